"""The node's configuration: one TOML file, every field with a default.

`homing-node run` reads `node.toml`; an environment variable such as `HOMING_NODE_LISTEN_PORT`
overrides the key `port` of the section `[listen]`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from homing_core.errors import UsageError
from homing_inference.upstream.server import UpstreamServer

from homing_node.audit_section import AuditSection
from homing_node.door_section import DoorSection, SecuritySection
from homing_node.jobs.section import JobsSection
from homing_node.key_section import KeysSection
from homing_node.limit_sections import LimitsSection
from homing_node.peers.section import PeersSection
from homing_node.recipe_section import RecipeSection, check_recipe_names
from homing_node.tools_section import (
    AgentTaskSection,
    DocumentsSection,
    FetchSection,
    McpSection,
    ToolsSection,
)

ENVIRONMENT_PREFIX: Final = "HOMING_NODE_"
DEFAULT_PORT: Final = 47100
_MOST_PORT = 65535
_MOST_CONTEXT = 1 << 22
_MOST_THREADS = 512
_MOST_MIB = 1 << 26
_LEAST_CONTEXT = 512
_MOST_SEQUENCES = 64
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}")
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
    """`[model]`: what this node runs, and with how much of the machine.

    Attributes:
        name: catalog name or path of a GGUF file; empty takes the product's own.
        also: further models, each loaded when it is asked for and unloaded when room is needed.
        stand_in: take a stand-in model instead of the product's own.
        context_tokens: prompt and answer together; 0 is the model's own, capped by the engine.
        max_sequences: answers that one model writes at once.
        cache_tokens: tokens of all answers and prefixes that one model holds; 0 is what four full
            contexts take.
        threads: 0 shares the cores with the other engines on the machine.
        cpu_share: fraction of the cores for all of this node's models together, above 0 to 1.
        gpu_layers: layers to put on an accelerator.
        memory_mib: MiB for all loaded models together; 0 is three quarters of the machine's.
        checkpoint_mib: MiB of memory in which one model keeps conversations to go on with; 0 lets
            the engine choose.
        state_mib: MiB on disk for the beginnings that many requests share, over all models.
        adapters: LoRA adapters of the default model: the name to ask for, and the GGUF file.
    """

    name: str = ""
    also: tuple[str, ...] = ()
    stand_in: bool = False
    context_tokens: int = 8192
    max_sequences: int = 8
    cache_tokens: int = 0
    threads: int = 0
    cpu_share: float = 1.0
    gpu_layers: int = 0
    memory_mib: int = 0
    checkpoint_mib: int = 512
    state_mib: int = 1024
    adapters: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        """Check the ranges and names."""
        self._check_ranges()
        named = [text.strip() for text in self.also]
        if not all(named):
            msg = "model.also holds an empty name"
            raise ValueError(msg)
        twice = sorted({text for text in named if named.count(text) > 1 or text == self.name})
        if twice:
            msg = f"model.also names {twice[0]!r} twice"
            raise ValueError(msg)
        for name, path in self.adapters.items():
            if not _NAME.fullmatch(name) or not path.strip():
                msg = f"model.adapters: {name!r} needs a plain name and the path of a file"
                raise ValueError(msg)

    def _check_ranges(self) -> None:
        for key, number in (
            ("context_tokens", self.context_tokens),
            ("cache_tokens", self.cache_tokens),
        ):
            if number != 0 and not _LEAST_CONTEXT <= number <= _MOST_CONTEXT:
                msg = (
                    f"model.{key} is not between {_LEAST_CONTEXT} and {_MOST_CONTEXT:,}; "
                    f"0 {_ZERO[key]}"
                )
                raise ValueError(msg)
        if self.threads > _MOST_THREADS:
            msg = f"model.threads is above {_MOST_THREADS}, the most that llama.cpp takes"
            raise ValueError(msg)
        if not 0 < self.cpu_share <= 1:
            msg = "model.cpu_share is not above 0 and at most 1"
            raise ValueError(msg)
        if not 1 <= self.max_sequences <= _MOST_SEQUENCES:
            msg = f"model.max_sequences is not between 1 and {_MOST_SEQUENCES}"
            raise ValueError(msg)
        for key in ("threads", "gpu_layers", "memory_mib", "checkpoint_mib", "state_mib"):
            if getattr(self, key) < 0:
                msg = f"model.{key} is negative; 0 {_ZERO[key]}"
                raise ValueError(msg)
            if getattr(self, key) > _MOST_MIB:
                msg = f"model.{key} is above {_MOST_MIB:,}, which no machine has"
                raise ValueError(msg)


_ZERO: Final = {
    "context_tokens": "takes the model's own",
    "cache_tokens": "is what four full contexts take",
    "threads": "shares the cores with other engines",
    "gpu_layers": "uses no accelerator",
    "memory_mib": "is three quarters of the machine's",
    "checkpoint_mib": "lets the engine choose",
    "state_mib": "keeps nothing on disk",
}
"""What 0 means for a key of `[model]`."""


@dataclass(frozen=True, slots=True)
class UpstreamSection:
    """`[upstream.NAME]`: a model behind another server, served under `NAME`.

    Attributes:
        url: of an OpenAI-compatible server, such as `http://127.0.0.1:11434`.
        model: what that server calls the model; empty where it serves just one.
        key_file: file that holds the API key; empty for none.
        allow_insecure: whether `http` may leave the home's own network: others may see every word.
    """

    url: str = ""
    model: str = ""
    key_file: str = ""
    allow_insecure: bool = False

    def __post_init__(self) -> None:
        """Check the address."""
        try:
            _ = UpstreamServer(self.url, allow_insecure=self.allow_insecure).root
        except UsageError as error:
            msg = f"{error.what} ({error.hint.rstrip('.')})"
            raise ValueError(msg) from error


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
    upstream: dict[str, UpstreamSection] = field(default_factory=dict[str, UpstreamSection])
    generations: GenerationsSection = field(default_factory=GenerationsSection)
    pairing: PairingSection = field(default_factory=PairingSection)
    door: DoorSection = field(default_factory=DoorSection)
    security: SecuritySection = field(default_factory=SecuritySection)
    limits: LimitsSection = field(default_factory=LimitsSection)
    audit: AuditSection = field(default_factory=AuditSection)
    keys: KeysSection = field(default_factory=KeysSection)
    peers: PeersSection = field(default_factory=PeersSection)
    jobs: JobsSection = field(default_factory=JobsSection)
    tools: ToolsSection = field(default_factory=ToolsSection)
    documents: DocumentsSection = field(default_factory=DocumentsSection)
    fetch: FetchSection = field(default_factory=FetchSection)
    agent_task: AgentTaskSection = field(default_factory=AgentTaskSection)
    mcp: McpSection = field(default_factory=McpSection)
    recipes: dict[str, RecipeSection] = field(default_factory=dict[str, RecipeSection])

    def __post_init__(self) -> None:
        """Check the names of the models and of what people name themselves."""
        check_recipe_names(self.recipes)
        for name in self.upstream:
            if not _NAME.fullmatch(name):
                msg = f"upstream {name!r} is not a plain name of at most 64 characters"
                raise ValueError(msg)
            if name in self.model.also:
                msg = f"upstream {name!r} is named in model.also too"
                raise ValueError(msg)


def _check_port(key: str, port: int) -> None:
    if not 0 <= port <= _MOST_PORT:
        msg = f"{key} is not between 0 and {_MOST_PORT}"
        raise ValueError(msg)
