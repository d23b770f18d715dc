"""The node's own facts, for phones and for its own command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from homing_core.access import DeviceRole, Limits
from homing_core.limits import may_use_model
from homing_core.nodes import NodeInfo, NodeLoad, OwnLimits, ServedModel, WarmPrefix
from homing_core.tools import Place

if TYPE_CHECKING:
    from homing_core.ids import DeviceId
    from homing_crypto.guard import Caller
    from homing_crypto.identity import DeviceIdentity
    from homing_inference.engine import EngineState

    from homing_node.generations.runner import Generations
    from homing_node.models.pool import ModelPool
    from homing_node.models.slots import Slot

_MS = 1000.0
_NO_LIMITS = Limits()


class Identities(Protocol):
    """Who the node is: its keys, of which the present one may be replaced while it runs."""

    @property
    def current(self) -> DeviceIdentity:
        """The present one."""
        ...


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What a node says of itself.

    Attributes:
        identities: its keys; the present one is who it is, and may be replaced while it runs.
        name: for people.
        version: Homing's.
    """

    identities: Identities
    name: str
    version: str

    @property
    def id(self) -> DeviceId:
        """Its device id."""
        return self.identities.current.device_id


def describe_node(
    facts: NodeFacts,
    models: ModelPool,
    generations: Generations,
    caller: Caller,
    own: OwnLimits,
) -> NodeInfo:
    """The node as one paired device sees it, with the models that it may use."""
    served = served_models(models, own.limits)
    default = models.slots[0]
    default_there = default in models.offered and may_use_model(own.limits, *default.names)
    return NodeInfo(
        id=facts.id,
        name=facts.name,
        version=facts.version,
        models=served,
        default_model=served[0].name if default_there else "",
        load=node_load(models, generations),
        role=caller.role,
        scopes=caller.scopes,
        place=place_for(caller),
        warm_prefixes=warm_prefixes(models, caller),
        own=own,
    )


def place_for(caller: Caller) -> Place:
    """What this node is to the caller: home only to the household, so that data stays at home."""
    household = caller.role in {DeviceRole.OWNER, DeviceRole.MEMBER}
    return Place.HOME if household and not caller.device.introduced_by else Place.PEER


def served_models(models: ModelPool, limits: Limits = _NO_LIMITS) -> tuple[ServedModel, ...]:
    """What may be asked for, as far as it is known; the default first, if it is among it."""
    return tuple(_served(slot) for slot in models.offered if may_use_model(limits, *slot.names))


def warm_prefixes(models: ModelPool, caller: Caller) -> tuple[WarmPrefix, ...]:
    """What is warm, for the owner's own devices alone.

    A prefix renders one device's system message and tools. Nobody can tell from a hash what it
    was made of, but whoever guesses a set of tools could confirm that somebody here has it. The
    owner's devices manage all the others; members and guests have no business to know.
    """
    if caller.role is not DeviceRole.OWNER or place_for(caller) is not Place.HOME:
        return ()
    return tuple(
        WarmPrefix(slot.name, warm.sha256, warm.tokens)
        for slot in models.slots
        if slot.host.engine is not None
        for warm in slot.host.engine.state.warm
    )


def node_load(models: ModelPool, generations: Generations) -> NodeLoad:
    """How busy it is: all models together, and the speed of a single answer.

    What an engine last said of itself may be some moments old, so requests are counted here too.
    """
    running = waiting = most = 0
    for slot in models.slots:
        engine = slot.host.engine
        if engine is None:
            waiting += slot.active
            continue
        queued = max(engine.state.waiting, slot.active - engine.info.max_sequences)
        waiting += queued
        running += slot.active - queued
        most += engine.info.max_sequences
    decode, prefill = _speeds(models, generations)
    return NodeLoad(
        running=running,
        waiting=waiting,
        max_sequences=max(most, 1),
        decode_tokens_per_second=decode,
        prefill_tokens_per_second=prefill,
    )


def _served(slot: Slot) -> ServedModel:
    status, info = slot.host.status, slot.host.info
    if info is None:
        return ServedModel(
            name=status.name,
            quantization=status.quantization,
            stand_in=status.stand_in,
            file_sha256=status.sha256,
        )
    return ServedModel(
        name=info.model,
        quantization=info.quantization,
        context_tokens=info.context_tokens,
        stand_in=info.stand_in,
        loaded=slot.host.engine is not None,
        file_sha256=status.sha256,
        chat_format=info.chat_format,
        can_think=info.can_think,
    )


def _speeds(models: ModelPool, generations: Generations) -> tuple[float, float]:
    """Decode and prefill, tokens a second: of the first engine that says, else of the last answer.

    0 where nothing is known.
    """
    states: list[EngineState] = [
        slot.host.engine.state for slot in models.slots if slot.host.engine is not None
    ]
    decode = next((s.decode_tokens_per_second for s in states if s.decode_tokens_per_second), 0.0)
    prefill = next(
        (s.prefill_tokens_per_second for s in states if s.prefill_tokens_per_second), 0.0
    )
    usage = generations.last_usage
    if not decode and usage is not None and usage.decode_ms > 0 and usage.completion_tokens > 1:
        decode = _MS * (usage.completion_tokens - 1) / usage.decode_ms
    if not prefill and usage is not None and usage.prefill_ms > 0:
        prefill = _MS * max(usage.prompt_tokens - usage.cached_tokens, 0) / usage.prefill_ms
    return decode, prefill
