"""How much memory a model needs, and how much there is, before the kernel has to end somebody.

A process that takes more than there is does not get an error: the kernel ends some process, often
another one. So the need is compared with what is there before anything is loaded.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from homing_core.errors import OverloadedError

if TYPE_CHECKING:
    from collections.abc import Callable

_MIB: Final = 1 << 20
_NUMBER_BYTES: Final = 2
_STATE_NUMBER_BYTES: Final = 4


def available_memory(root: Path = Path("/")) -> int | None:
    """Bytes that this process can still take; None where the system does not say.

    That is what Linux calls available (free, or a cache that it can drop), or what is left of the
    container's limit if that is less. A container's caches count as used here, except those that
    it can drop.

    Args:
        root: where the kernel describes the machine.
    """
    amounts = [
        *_machine(_text(root / "proc/meminfo")),
        *_container(root / "sys/fs/cgroup", _text(root / "proc/self/cgroup")),
    ]
    return max(0, min(amounts)) if amounts else None


def check_room(what: str, needed: int, available: int | None) -> None:
    """Refuse what does not fit.

    Args:
        what: needs the memory; for the error.
        needed: bytes.
        available: bytes, or None if nobody knows.

    Raises:
        OverloadedError: there is less than needed.
    """
    if available is not None and needed > available:
        msg = (
            f"{what} needs {-(-needed // _MIB):,} MiB of memory, "
            f"and {available // _MIB:,} MiB are available"
        )
        raise OverloadedError(msg, "Close other programs, or use a smaller model or context.")


def context_bytes(number: Callable[[str], int], cells: int, sequences: int) -> int:
    """Bytes that a context reserves for what its sequences hold; too little if the model is silent.

    Source: `llama_hparams` in llama.cpp (`n_embd_k_gqa`, `n_embd_r`, `n_embd_s`), with 16-bit keys
    and values and a 32-bit recurrent state.

    Args:
        number: gives a number of the model's metadata, its name without the architecture; 0 if it
            is missing or differs by layer.
        cells: of the attention cache.
        sequences: at once; each has a recurrent state, in models that have one.
    """
    layers = number("block_count")
    interval = number("full_attention_interval")
    heads = number("attention.head_count")
    width = number("embedding_length") // max(heads, 1)
    keys = number("attention.key_length") or width
    values = number("attention.value_length") or width
    kv_heads = number("attention.head_count_kv")
    attending = layers // interval if interval else layers
    cache = attending * cells * kv_heads * (keys + values) * _NUMBER_BYTES
    inner, state = number("ssm.inner_size"), number("ssm.state_size")
    mixed = inner + 2 * number("ssm.group_count") * state
    one = inner * state + max(number("ssm.conv_kernel") - 1, 0) * mixed
    recurrent = (layers - attending if interval else layers) if inner else 0
    return cache + recurrent * sequences * one * _STATE_NUMBER_BYTES


def _machine(meminfo: str) -> list[int]:
    for line in meminfo.splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if name == "MemAvailable" and words and words[0].isdecimal():
            return [int(words[0]) << 10]
    return []


def _container(tree: Path, membership: str) -> list[int]:
    """What is left in each group of cgroup v2 that this process is in."""
    left: list[int] = []
    for line in membership.splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        group = PurePosixPath(path.lstrip("/"))
        if controllers or ".." in group.parts:
            continue
        for folder in (group, *group.parents):
            limit = _text(tree / folder / "memory.max")
            used = _text(tree / folder / "memory.current")
            if limit.isdecimal() and used.isdecimal():
                dropped = _droppable(_text(tree / folder / "memory.stat"))
                left.append(int(limit) - int(used) + dropped)
    return left


def _droppable(stat: str) -> int:
    """Bytes of file cache that the kernel gives up first."""
    total = 0
    for line in stat.splitlines():
        name, _, amount = line.partition(" ")
        if name in ("inactive_file", "active_file") and amount.isdecimal():
            total += int(amount)
    return total


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
