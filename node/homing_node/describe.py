"""The node's own facts, for phones and for its own command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from homing_agent.runtime.model_host import Phase
from homing_core.access import DeviceRole
from homing_core.nodes import NodeInfo, NodeLoad, ServedModel
from homing_core.tools import Place

if TYPE_CHECKING:
    from homing_agent.runtime.model_host import ModelHost
    from homing_core.ids import DeviceId
    from homing_crypto.guard import Caller

    from homing_node.generations.runner import Generations

_MS = 1000.0
_MAX_SEQUENCES = 1


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What a node says of itself.

    Attributes:
        id: its device id.
        name: for people.
        version: Homing's.
    """

    id: DeviceId
    name: str
    version: str


def describe_node(
    facts: NodeFacts, models: ModelHost, generations: Generations, caller: Caller
) -> NodeInfo:
    """The node as one paired device sees it."""
    served = served_models(models)
    return NodeInfo(
        id=facts.id,
        name=facts.name,
        version=facts.version,
        models=served,
        default_model=served[0].name if served else "",
        load=node_load(generations),
        role=caller.role,
        scopes=caller.scopes,
        place=place_for(caller),
    )


def place_for(caller: Caller) -> Place:
    """What this node is to the caller: home only to the household, so that data stays at home."""
    household = caller.role in {DeviceRole.OWNER, DeviceRole.MEMBER}
    return Place.HOME if household and not caller.device.introduced_by else Place.PEER


def served_models(models: ModelHost) -> tuple[ServedModel, ...]:
    """The models, as far as they are known."""
    status = models.status
    if status.phase is Phase.FAILED:
        return ()
    engine = models.engine
    if engine is None:
        return (
            ServedModel(
                name=status.name,
                quantization=status.quantization,
                stand_in=status.stand_in,
                file_sha256=status.sha256,
            ),
        )
    info = engine.info
    return (
        ServedModel(
            name=info.model,
            quantization=info.quantization,
            context_tokens=info.context_tokens,
            stand_in=info.stand_in,
            loaded=True,
            file_sha256=status.sha256,
            chat_format=info.chat_format,
            can_think=info.can_think,
        ),
    )


def node_load(generations: Generations) -> NodeLoad:
    """How busy it is. Speeds are those of the last generation that said them."""
    active = generations.running()
    usage = generations.last_usage
    decode = prefill = 0.0
    if usage is not None and usage.decode_ms > 0 and usage.completion_tokens > 1:
        decode = _MS * (usage.completion_tokens - 1) / usage.decode_ms
    if usage is not None and usage.prefill_ms > 0:
        prefill = _MS * max(usage.prompt_tokens - usage.cached_tokens, 0) / usage.prefill_ms
    return NodeLoad(
        running=min(active, _MAX_SEQUENCES),
        waiting=max(active - _MAX_SEQUENCES, 0),
        max_sequences=_MAX_SEQUENCES,
        decode_tokens_per_second=decode,
        prefill_tokens_per_second=prefill,
    )
