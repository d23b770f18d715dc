"""Beginning a job: which node, whose consent, written down, and handed in."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from homing_agent.schema import check_arguments, unsupported
from homing_core.approvals import ApprovalStatement, Verdict
from homing_core.errors import (
    ConflictError,
    HomingError,
    NotFoundError,
    RefusedError,
    UnavailableError,
)
from homing_core.ids import new_approval_id, new_job_id
from homing_core.labels import clean_label
from homing_core.provenance import Sensitivity
from homing_core.tools import EffectClass, Place
from homing_crypto.nodes import find_node

from homing_client.jobs.entry import JobEntry
from homing_client.jobs.keeper import REACH_S

if TYPE_CHECKING:
    from collections.abc import Iterable

    from homing_agent.ports import JobAsked, Signer
    from homing_core.approvals import SignedApproval
    from homing_core.clock import Clock
    from homing_core.ids import RequestId
    from homing_core.tools import ToolCall, ToolSpec
    from homing_crypto.nodes import KnownNode

    from homing_client.jobs.book import JobBook
    from homing_client.jobs.keeper import JobKeeper
    from homing_client.jobs.node import JobNodes
    from homing_client.jobs.offers import Offers

CONSENT_S: Final = 12 * 60 * 60
"""A consent to a job holds for so long, in seconds: its node may be away. At most a day is taken,
and both clocks may differ."""
_FIRST_S: Final = 2 * REACH_S
"""How long to wait for the node's first word on a job that was just written down."""


class Starter:
    """Begins jobs.

    Args:
        book: where they are written down.
        nodes: the way to the nodes.
        offers: what they can do.
        keeper: looks after the jobs from then on.
        signer: signs consent.
        clock: wall time.
    """

    def __init__(  # noqa: PLR0913, PLR0917  # each is another collaborator
        self,
        book: JobBook,
        nodes: JobNodes,
        offers: Offers,
        keeper: JobKeeper,
        signer: Signer,
        clock: Clock,
    ) -> None:
        """Keep them."""
        self._book = book
        self._nodes = nodes
        self._offers = offers
        self._keeper = keeper
        self._signer = signer
        self._clock = clock

    async def begin(self, asked: JobAsked) -> JobEntry:
        """Write a job down and hand it in; the same request, tool and arguments are the same job.

        It is on its way when this returns, even if its node is away just now.

        Raises:
            HomingError: the node does not take it, or it cannot be written down.
        """
        node = await self._node(asked)
        entry, _ = self._book.add(
            JobEntry(
                id=new_job_id(),
                asked=asked,
                node=node.id,
                node_name=node.name,
                place=node.place,
                certificate=node.certificate_der,
                key=self._nodes.own_key(),
                asked_at=self._clock.now(),
            )
        )
        if asked.approval is not None:
            self._book.nodes.allow(asked.tool)
        self._keeper.ensure(entry.id)
        entry = await self._first_word(entry)
        if entry.failure is not None and not entry.submitted:
            self._offers.forget(node.id)
            raise entry.failure.to_error()
        return entry

    async def find(
        self, tool: str, node: str, sensitivity: Sensitivity
    ) -> tuple[KnownNode, ToolSpec]:
        """The first node, home before peers, that has a tool and may have the data.

        Args:
            tool: its name, or `server.name`.
            node: name or beginning of the id of the node; empty takes any.
            sensitivity: how far the arguments may travel.

        Raises:
            NotFoundError: no node that answers has it.
            RefusedError: the data may not go to a node that has it.
            HomingError: nobody answers.
        """
        if sensitivity is Sensitivity.PHONE_ONLY:
            msg = "this may not leave the phone"
            raise RefusedError(msg, "Allow it to travel home with: --sensitivity home_only")
        known = await self._nodes.known()
        if not known:
            msg = "this phone is paired with no node"
            hint = "On the home computer: homing-node pair. Then here: homing pair LINK"
            raise UnavailableError(msg, hint)
        wanted = (find_node(known, node),) if node else known
        may = [one for one in wanted if may_have(one, sensitivity)]
        if not may:
            msg = "this may not go to a peer"
            raise RefusedError(msg, "Let it travel with: --sensitivity trusted_peers")
        problem: HomingError | None = None
        for fresh in (False, True):  # what was said a while ago is no reason to refuse
            for one, said in await self._offers.of_all(may, fresh=fresh):
                if isinstance(said, HomingError):
                    problem = problem or said
                    continue
                for spec in named(said, tool):
                    return one, spec
        if problem is not None:
            raise problem
        msg = f"no node has a tool named {clean_label(tool)} for this phone"
        raise NotFoundError(msg, "homing tools lists them.")

    def consent(
        self, spec: ToolSpec, call: ToolCall, request_id: RequestId, *, allowed: bool
    ) -> SignedApproval | None:
        """The person's signed consent, where a tool needs one.

        Raises:
            RefusedError: it needs one, and the person has given none.
        """
        harmless = spec.effect is EffectClass.READ and not spec.topics
        if harmless and spec.place is Place.HOME:
            return None
        if not allowed:
            msg = f"{spec.name} needs your consent: {effect_words(spec)}"
            raise RefusedError(msg, "If you want that, add: --allow")
        return self._signer.sign(
            ApprovalStatement(
                id=new_approval_id(),
                request_id=request_id,
                step=1,
                tool_hash=spec.schema_hash,
                argument_hash=call.argument_hash,
                verdict=Verdict.ALLOW,
                device=self._signer.device,
                expires_at=int(self._clock.now()) + CONSENT_S,
            )
        )

    async def _node(self, asked: JobAsked) -> KnownNode:
        for node in await self._nodes.known():
            if node.id == asked.tool.node:
                if not may_have(node, asked.sensitivity):
                    msg = f"this may not go to {node.name}"
                    raise RefusedError(msg, "Let it travel with: --sensitivity trusted_peers")
                return node
        msg = "this phone is not paired with that node any more"
        raise NotFoundError(msg, "Pair with it again, or ask another node.")

    async def _first_word(self, entry: JobEntry) -> JobEntry:
        def look() -> JobEntry | None:
            now = self._book.get(entry.id)
            said = now.submitted or now.state.final or self._keeper.error(entry.id)
            return now if said else None

        try:
            async with asyncio.timeout(_FIRST_S):
                return await self._keeper.news.until(look)
        except TimeoutError:
            return self._book.get(entry.id)


def check_call(spec: ToolSpec, call: ToolCall) -> None:
    """Check arguments where the phone can; the node checks them in any case.

    Raises:
        InvalidDataError: they do not fit the schema.
    """
    if not unsupported(spec.parameters):
        check_arguments(spec.parameters, call.arguments)


def same_again(entries: Iterable[JobEntry], spec_name: str, call: ToolCall) -> JobEntry | None:
    """The job that a request id was used for before.

    Raises:
        ConflictError: it was for something else.
    """
    for entry in entries:
        if (
            entry.asked.call.argument_hash == call.argument_hash
            and spec_name.rpartition(".")[2] == entry.asked.tool.name
        ):
            return entry
        raise used_otherwise()
    return None


def used_otherwise() -> ConflictError:
    """What is said of a request id that belongs to something else."""
    msg = "this request id was used for something else"
    return ConflictError(msg, "Choose a fresh id for a new request.")


def may_have(node: KnownNode, sensitivity: Sensitivity) -> bool:
    """Whether data of a class may go to a node."""
    if node.place is Place.HOME:
        return sensitivity is not Sensitivity.PHONE_ONLY
    return sensitivity in {Sensitivity.TRUSTED_PEERS, Sensitivity.ANY_PAIRED}


def named(tools: Iterable[ToolSpec], name: str) -> tuple[ToolSpec, ...]:
    """Tools that a person may mean by a name, or by `server.name`."""
    return tuple(tool for tool in tools if name in {tool.name, f"{tool.server}.{tool.name}"})


def effect_words(spec: ToolSpec) -> str:
    """Why a tool needs consent, for a person."""
    words = {
        EffectClass.READ: "it reads, and is given what you say",
        EffectClass.READ_NETWORK: "it sends what it is given over the network",
        EffectClass.WRITE: "it writes",
        EffectClass.SEND: "it sends something to somebody",
        EffectClass.SPEND: "it spends money",
        EffectClass.DELETE: "it deletes something",
        EffectClass.SETTINGS: "it changes settings",
    }
    where = "a peer's computer" if spec.place is Place.PEER else "the home computer"
    return f"{words[spec.effect]}, on {where}"
