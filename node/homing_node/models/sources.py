"""The models that a configuration names, and where they come from."""

from __future__ import annotations

import contextlib
import hashlib
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from homing_agent.runtime.model_host import ModelStatus, Phase
from homing_agent.runtime.model_source import CatalogSource, Wanted, expected_status
from homing_core.errors import NotFoundError

from homing_node.models.slots import ConfiguredModel
from homing_node.models.upstream import UpstreamSource

if TYPE_CHECKING:
    from homing_inference.catalog.store import Store

    from homing_node.config import NodeConfig

_MIB: Final = 1 << 20
_STATE_NAME: Final = re.compile(r"[0-9a-f]{16}")


def configured_models(
    config: NodeConfig, store: Store, state_root: Path
) -> tuple[ConfiguredModel, ...]:
    """What the node may serve, the default first.

    Args:
        config: how the node is set.
        store: the models folder.
        state_root: folder for what engines keep on disk.

    Raises:
        NotFoundError: a further model is not in the catalog.
    """
    section = config.model
    behind = {
        name: ConfiguredModel(
            ModelStatus(name, Phase.UNLOADED), UpstreamSource(name, one), name, resident=True
        )
        for name, one in config.upstream.items()
    }
    default = behind.pop(section.name, None) or _here(config, store, state_root, section.name)
    further = (_here(config, store, state_root, name) for name in section.also)
    return (default, *further, *behind.values())


def forget_other_states(config: NodeConfig, state_root: Path) -> None:
    """Delete what engines of models that are not configured any more left on disk.

    Args:
        config: how the node is set.
        state_root: folder for what engines keep on disk; need not exist.
    """
    kept = {_state_name(name) for name in (config.model.name, *config.model.also)}
    with contextlib.suppress(OSError):  # only costs room
        for folder in state_root.iterdir():
            if _STATE_NAME.fullmatch(folder.name) and folder.name not in kept:
                shutil.rmtree(folder, ignore_errors=True)


def _state_name(name: str) -> str:
    """A folder for each model: their processes know nothing of each other."""
    return hashlib.sha256(name.encode()).hexdigest()[:16]


def _here(config: NodeConfig, store: Store, state_root: Path, name: str) -> ConfiguredModel:
    """A model that this machine runs itself."""
    section = config.model
    is_default = name == section.name
    files = 1 + len(section.also)
    wanted = Wanted(
        "node",
        name,
        section.stand_in,
        section.context_tokens,
        section.threads,
        section.gpu_layers,
        max_sequences=section.max_sequences,
        cache_tokens=section.cache_tokens,
        state_folder=state_root / _state_name(name),
        state_bytes=section.state_mib * _MIB // files,
        checkpoint_bytes=section.checkpoint_mib * _MIB,
        adapters=_adapters(section.adapters) if is_default else (),
        cpu_share=section.cpu_share,
    )
    try:
        status = expected_status(wanted)
    except NotFoundError:
        if not is_default:
            raise
        status = ModelStatus(name, Phase.UNLOADED)  # whoever loads it says so
    return ConfiguredModel(status, CatalogSource(wanted, store), name)


def _adapters(named: dict[str, str]) -> tuple[tuple[str, Path], ...]:
    return tuple((name, Path(path).expanduser().absolute()) for name, path in named.items())
