"""The phone's configuration: one TOML file, every field with a default.

`homing serve` reads `phone.toml`; an environment variable such as `HOMING_MODEL_NAME` overrides
the key `name` of the section `[model]`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from homing_core.addresses import parse_address
from homing_core.errors import InvalidDataError
from homing_core.provenance import Sensitivity


@dataclass(frozen=True, slots=True)
class PhoneSection:
    """`[phone]`: what this phone is.

    Attributes:
        name: what nodes see; empty takes the host name.
        data: folder for calendar, notes and contacts; empty takes `DATA_DIR/data`.
        idle_minutes: the resident process leaves after this long without use; 0 never.
    """

    name: str = ""
    data: str = ""
    idle_minutes: int = 60

    def __post_init__(self) -> None:
        """Check the ranges."""
        if self.idle_minutes < 0:
            msg = "phone.idle_minutes is negative; 0 means never"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class ModelSection:
    """`[model]`: the phone's own model.

    Attributes:
        name: catalog name or path of a GGUF file; empty takes the product's own.
        stand_in: take a small stand-in model instead of the product's own.
        context_tokens: prompt and answer together.
        max_sequences: answers that are written at once: one for you, one for what goes on behind.
        threads: 0 shares the cores with the other engines on this machine.
        checkpoint_mib: MiB of memory in which conversations are kept to go on with; 0 lets the
            engine choose.
        state_mib: MiB on disk, so that a new process need not read its tools again; 0 for none.
    """

    name: str = ""
    stand_in: bool = False
    context_tokens: int = 4096
    max_sequences: int = 2
    threads: int = 0
    checkpoint_mib: int = 128
    state_mib: int = 256

    def __post_init__(self) -> None:
        """Check the ranges."""
        if self.context_tokens < 512:  # noqa: PLR2004  # the tools alone need more
            msg = "model.context_tokens is below 512; the tools alone need more"
            raise ValueError(msg)
        if not 1 <= self.max_sequences <= 16:  # noqa: PLR2004  # far beyond what a phone can do
            msg = "model.max_sequences is not between 1 and 16"
            raise ValueError(msg)
        if not 0 <= self.threads <= 512:  # noqa: PLR2004  # the most that llama.cpp takes
            msg = "model.threads is not between 0 and 512; 0 lets the engine choose"
            raise ValueError(msg)
        if min(self.checkpoint_mib, self.state_mib) < 0:
            msg = "model.checkpoint_mib and state_mib are at least 0"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class HomeSection:
    """`[home]`: how to find the nodes.

    Attributes:
        addresses: further `host:port` at which to look for a paired node.
        mdns: listen for nodes on the local network.
        mdns_interfaces: addresses of the interfaces to listen on; empty means all.
        reach_seconds: how long to look for a node before the phone answers by itself.
        model: model to ask for; empty takes the node's default.
    """

    addresses: tuple[str, ...] = ()
    mdns: bool = True
    mdns_interfaces: tuple[str, ...] = ()
    reach_seconds: float = 1.0
    model: str = ""

    def __post_init__(self) -> None:
        """Check the range and the addresses."""
        for address in self.addresses:
            try:
                parse_address(address, error=InvalidDataError)
            except InvalidDataError as error:
                msg = f"home.addresses: {error.what} ({error.hint.rstrip('.')})"
                raise ValueError(msg) from error
        if not 0 < self.reach_seconds <= 60:  # noqa: PLR2004  # a minute is already absurd
            msg = "home.reach_seconds is not between 0 and 60"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class PrivacySection:
    """`[privacy]`: how far what you say may travel unless you say otherwise.

    Attributes:
        sensitivity: `phone_only`, `home_only`, `trusted_peers` or `any_paired`.
    """

    sensitivity: str = Sensitivity.HOME_ONLY.value

    def __post_init__(self) -> None:
        """Check the word."""
        if self.sensitivity not in {item.value for item in Sensitivity}:
            words = ", ".join(item.value for item in Sensitivity)
            msg = f"privacy.sensitivity is none of {words}"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class KeysSection:
    """`[keys]`: this phone's key.

    Attributes:
        rotate_days: days after which a new key is made by itself; 0 never.
    """

    rotate_days: float = 365.0

    def __post_init__(self) -> None:
        """Check the range."""
        if not (self.rotate_days == 0 or 1 <= self.rotate_days <= 36_500):  # noqa: PLR2004  # a century
            msg = "keys.rotate_days is not between 1 and 36500; 0 means never"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """The whole file."""

    phone: PhoneSection = field(default_factory=PhoneSection)
    model: ModelSection = field(default_factory=ModelSection)
    home: HomeSection = field(default_factory=HomeSection)
    privacy: PrivacySection = field(default_factory=PrivacySection)
    keys: KeysSection = field(default_factory=KeysSection)

    @property
    def sensitivity(self) -> Sensitivity:
        """The default class of what the person says."""
        return Sensitivity(self.privacy.sensitivity)
