"""The node's configuration: one TOML file, every field with a default.

`homing-node run` reads `node.toml`; an environment variable such as `HOMING_NODE_LISTEN_PORT`
overrides the key `port` of the section `[listen]`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

ENVIRONMENT_PREFIX: Final = "HOMING_NODE_"
DEFAULT_PORT: Final = 47100
_MOST_PORT = 65535
_LEAST_CONTEXT = 512
_LEVELS = ("debug", "info", "warning", "error")


@dataclass(frozen=True, slots=True)
class NodeSection:
    """`[node]`: what this node is.

    Attributes:
        name: what phones see; empty takes the host name.
        log_level: `debug`, `info`, `warning` or `error`.
        drain_seconds: how long running generations may go on after a request to stop.
    """

    name: str = ""
    log_level: str = "info"
    drain_seconds: float = 5.0

    def __post_init__(self) -> None:
        """Check the words and ranges."""
        if self.log_level not in _LEVELS:
            msg = f"node.log_level is none of {', '.join(_LEVELS)}"
            raise ValueError(msg)
        if not 0 <= self.drain_seconds <= 600:  # noqa: PLR2004  # ten minutes
            msg = "node.drain_seconds is not between 0 and 600"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class ListenSection:
    """`[listen]`: where phones reach this node.

    Attributes:
        host: address to listen on; empty means all.
        port: TCP port; 0 lets the system choose a free one.
        advertise: addresses to tell phones before those of this machine's interfaces, `host` or
            `host:port`, best first; for a forwarded port, a VPN or a container.
    """

    host: str = ""
    port: int = DEFAULT_PORT
    advertise: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the range."""
        _check_port("listen.port", self.port)


@dataclass(frozen=True, slots=True)
class DiscoverySection:
    """`[discovery]`: being found on the local network.

    Attributes:
        mdns: announce this node.
        interfaces: addresses of the interfaces to announce on; empty means all.
    """

    mdns: bool = True
    interfaces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelSection:
    """`[model]`: what this node runs.

    Attributes:
        name: catalog name or path of a GGUF file; empty takes the product's own.
        stand_in: take a stand-in model instead of the product's own.
        context_tokens: prompt and answer together; 0 is the model's own, capped by the engine.
        threads: 0 lets the engine choose.
        gpu_layers: layers to put on an accelerator.
    """

    name: str = ""
    stand_in: bool = False
    context_tokens: int = 8192
    threads: int = 0
    gpu_layers: int = 0

    def __post_init__(self) -> None:
        """Check the ranges."""
        if self.context_tokens != 0 and self.context_tokens < _LEAST_CONTEXT:
            msg = f"model.context_tokens is below {_LEAST_CONTEXT}; 0 takes the model's own"
            raise ValueError(msg)
        if self.threads < 0:
            msg = "model.threads is negative; 0 lets the engine choose"
            raise ValueError(msg)
        if self.gpu_layers < 0:
            msg = "model.gpu_layers is negative; 0 uses no accelerator"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class GenerationsSection:
    """`[generations]`: how many run, and how long answers wait for a phone that went away.

    Attributes:
        running: generations at once, for all devices; more are refused for the moment.
        running_per_device: the same for one device.
        keep_minutes: how long an ended answer waits to be fetched.
        buffer_mib: MiB of unfetched answers for one device; its oldest ended ones go first.
    """

    running: int = 16
    running_per_device: int = 4
    keep_minutes: float = 30.0
    buffer_mib: int = 16

    def __post_init__(self) -> None:
        """Check the ranges."""
        if min(self.running, self.running_per_device, self.buffer_mib) < 1:
            msg = "generations.running, running_per_device and buffer_mib are at least 1"
            raise ValueError(msg)
        if not 0 < self.keep_minutes <= 24 * 60:
            msg = "generations.keep_minutes is not between 0 and 1440"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class PairingSection:
    """`[pairing]`: the short-lived server that lets a new device in.

    Attributes:
        port: TCP port; 0 lets the system choose a free one each time. Fix it if a firewall must
            let it through.
    """

    port: int = 0

    def __post_init__(self) -> None:
        """Check the range."""
        _check_port("pairing.port", self.port)


@dataclass(frozen=True, slots=True)
class NodeConfig:
    """The whole file."""

    node: NodeSection = field(default_factory=NodeSection)
    listen: ListenSection = field(default_factory=ListenSection)
    discovery: DiscoverySection = field(default_factory=DiscoverySection)
    model: ModelSection = field(default_factory=ModelSection)
    generations: GenerationsSection = field(default_factory=GenerationsSection)
    pairing: PairingSection = field(default_factory=PairingSection)


def _check_port(key: str, port: int) -> None:
    if not 0 <= port <= _MOST_PORT:
        msg = f"{key} is not between 0 and {_MOST_PORT}"
        raise ValueError(msg)
