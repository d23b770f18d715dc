"""The permission rule: may this call run, must a person be asked, or is it refused? Pure.

    the tool                          allowed by
    reads what is local               the rule itself
    money, health, other people       a person, each time, whatever else holds
    everything else                   a person; `--allow TOOL`; or a person's earlier yes to the
                                      same tool (by hash) in the same conversation

Text that others may have written (an imported event, a note, a tool's output) can carry
instructions. While such text is in the model's context, only a person's yes to this very call
counts: an `--allow` given beforehand or an earlier yes was not given with that text in view.
Reading what is local stays allowed, since nothing leaves by it and nothing changes.

Where a person is needed and nobody is there to be asked, the call is refused.

A tool of a node is no different, but for its words: what it reads or changes is that node's. What
is read from a peer's computer counts as sending: its arguments leave the home. A tool that is
another one than its person allowed under its name (its description or schema has changed) is new
to them: no `--allow` by name covers it. Nor does one cover a peer's tool: a peer names its tools
itself, and may give the name of a harmless one at home to what sends or spends.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from homing_core.tools import EffectClass, Place, Topic

if TYPE_CHECKING:
    from homing_core.tools import ToolCall, ToolSpec

BY_RULE = "rule"
BY_PERSON = "person"
BY_OPTION = "--allow"

_DOES = {
    EffectClass.READ: "reads what is on this phone",
    EffectClass.READ_NETWORK: "sends what it is given over the network",
    EffectClass.WRITE: "writes to this phone",
    EffectClass.SEND: "sends something to somebody",
    EffectClass.SPEND: "spends money",
    EffectClass.DELETE: "deletes something",
    EffectClass.SETTINGS: "changes settings",
}
_TOPICS = {
    Topic.MONEY: "money",
    Topic.HEALTH: "health",
    Topic.OTHER_PEOPLE: "other people's data",
}


def _none() -> frozenset[str]:
    return frozenset()


@dataclass(frozen=True, slots=True)
class PermitContext:
    """What the rule looks at besides the call.

    Attributes:
        interactive: whether a person is there to be asked.
        allowed_tools: exact tool names that the person allowed for this request.
        remembered: schema hashes of tools that the person allowed in this conversation.
        untrusted: whether untrusted text is in the model's context.
        doubt: why the model's choice is doubtful, for a person; empty if it is not.
        where: name of the node that runs the tool; empty for this phone.
        changed: whether it is another tool than the one that was allowed under its name.
    """

    interactive: bool = False
    allowed_tools: frozenset[str] = field(default_factory=_none)
    remembered: frozenset[str] = field(default_factory=_none)
    untrusted: bool = False
    doubt: str = ""
    where: str = ""
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Allow:
    """It may run. `by` is `rule`, `person` or `--allow`."""

    by: str


@dataclass(frozen=True, slots=True)
class NeedPerson:
    """A person must see the exact call and say yes.

    Attributes:
        reason: why, for that person.
        may_remember: whether their yes may be kept for this tool and conversation.
    """

    reason: str
    may_remember: bool


@dataclass(frozen=True, slots=True)
class Refuse:
    """It must not run.

    Attributes:
        reason: why, for a person.
        hint: what would let it run.
    """

    reason: str
    hint: str


Permission: TypeAlias = Allow | NeedPerson | Refuse


def subjects(spec: ToolSpec) -> frozenset[Topic]:
    """The tool's topics; spending is money, whatever the tool says of itself."""
    spends = {Topic.MONEY} if spec.effect is EffectClass.SPEND else frozenset[Topic]()
    return spec.topics | spends


def permit(spec: ToolSpec, call: ToolCall, context: PermitContext) -> Permission:
    """Apply the rule above to one call.

    Args:
        spec: the tool.
        call: the call; its arguments are what a person would be shown.
        context: what else counts.
    """
    topics = subjects(spec)
    if spec.effect is EffectClass.READ and spec.place is not Place.PEER and not topics:
        return Allow(BY_RULE)
    if not topics and not context.untrusted:
        if call.name in context.allowed_tools and _allow_covers(spec, context):
            return Allow(BY_OPTION)
        if spec.schema_hash in context.remembered and not context.doubt:
            return Allow(BY_PERSON)
    reason = _reason(spec, topics, context)
    if not context.interactive:
        return Refuse(reason, _hint(spec, topics, context))
    return NeedPerson(reason, may_remember=not topics and not context.untrusted)


def _allow_covers(spec: ToolSpec, context: PermitContext) -> bool:
    """Whether a name alone says which tool is meant."""
    return spec.place is not Place.PEER and not context.changed


def _reason(spec: ToolSpec, topics: frozenset[Topic], context: PermitContext) -> str:
    does = _DOES[spec.effect] if spec.place is Place.PHONE else _does_there(spec, context.where)
    parts = [f"{spec.name} {does}"]
    if context.changed:
        parts.append("it is not the tool that you allowed before: it has changed")
    if topics:
        parts.append(f"it concerns {', '.join(sorted(_TOPICS[topic] for topic in topics))}")
    if context.untrusted:
        parts.append("text from outside is in the conversation")
    if context.doubt and context.doubt not in parts:
        parts.append(context.doubt)
    return "; ".join(parts)


def _does_there(spec: ToolSpec, where: str) -> str:
    """What a node's tool does, with the place said."""
    node = where or spec.place.value
    match spec.effect:
        case EffectClass.READ if spec.place is Place.PEER:
            return f"sends what it is given to {node}, and reads there"
        case EffectClass.READ:
            return f"reads what is on {node}"
        case EffectClass.WRITE:
            return f"writes to {node}"
        case EffectClass.READ_NETWORK:
            return f"sends what it is given over the network, from {node}"
        case _:
            return f"{_DOES[spec.effect]}, on {node}"


def _hint(spec: ToolSpec, topics: frozenset[Topic], context: PermitContext) -> str:
    if topics or context.untrusted or not _allow_covers(spec, context):
        return "Ask again in a terminal, where you can be shown the exact step."
    return f"Ask again in a terminal, or allow it with --allow {spec.name}."
