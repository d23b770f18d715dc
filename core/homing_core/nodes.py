"""What a node says of itself to a paired device: models, load, what is warm."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from homing_core.access import Limits
from homing_core.tools import Place

if TYPE_CHECKING:
    from homing_core.access import DeviceRole, Scope
    from homing_core.ids import DeviceId


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model that a node serves.

    Attributes:
        name: catalog or served name.
        quantization: weights' format, such as `BF16`; empty until it is known.
        context_tokens: prompt and answer together; 0 until it is known.
        stand_in: whether it stands in for the product's own model.
        loaded: whether it is in memory.
        file_sha256: of the file, hex; empty if unknown.
        chat_format: such as `qwen35-xml`; empty until it is known.
        can_think: whether it can think first.
    """

    name: str
    quantization: str = ""
    context_tokens: int = 0
    stand_in: bool = False
    loaded: bool = False
    file_sha256: str = ""
    chat_format: str = ""
    can_think: bool = False


@dataclass(frozen=True, slots=True)
class NodeLoad:
    """How busy a node is.

    Attributes:
        running: generations that run.
        waiting: generations that wait.
        max_sequences: sequences it can run at once.
        decode_tokens_per_second: recent speed of one stream; 0 if unknown.
        prefill_tokens_per_second: recent speed; 0 if unknown.
    """

    running: int = 0
    waiting: int = 0
    max_sequences: int = 1
    decode_tokens_per_second: float = 0.0
    prefill_tokens_per_second: float = 0.0


@dataclass(frozen=True, slots=True)
class WarmPrefix:
    """A system-and-tools prefix whose state a node holds.

    Attributes:
        model: the model it belongs to.
        sha256: of the rendered prefix, hex.
        tokens: its length.
    """

    model: str
    sha256: str
    tokens: int


@dataclass(frozen=True, slots=True)
class OwnLimits:
    """What a device may do on a node, and what is left of it.

    Attributes:
        limits: the tighter of all that apply; 0 or empty means no limit of that kind.
        tokens_left: of the tokens a day, where these are limited.
        opens_in_s: seconds until the next hour of use; 0 if it is one now.
    """

    limits: Limits = field(default_factory=Limits)
    tokens_left: int = 0
    opens_in_s: int = 0


@dataclass(frozen=True, slots=True)
class NodeInfo:
    """A node, as it describes itself to one paired device.

    Attributes:
        id: the node's device id.
        name: for people; a reader from the wire gets it cleaned.
        version: Homing's version.
        models: what it serves.
        default_model: used when none is named; empty if it serves none.
        load: how busy it is.
        role: the asking device's role there.
        scopes: what the asking device may do there.
        place: what the node is to the asking device, `HOME` or `PEER`.
        capabilities: wire features beyond the first version, by name.
        warm_prefixes: what is warm.
        own: the asking device's limits there, and what is left.
    """

    id: DeviceId
    name: str
    version: str
    models: tuple[ServedModel, ...]
    default_model: str
    load: NodeLoad
    role: DeviceRole
    scopes: frozenset[Scope]
    place: Place = Place.HOME
    capabilities: tuple[str, ...] = ()
    warm_prefixes: tuple[WarmPrefix, ...] = field(default_factory=tuple)
    own: OwnLimits = field(default_factory=OwnLimits)
