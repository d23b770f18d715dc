"""Pairing with a node by its short code. What is under way is written down before it is sent.

The code itself is never written down: with the node's reply it has become keys of this one
exchange, and from then on repeating any message, also by a later process, is harmless. A phone that
loses the node after that was recognised asks at its main port whether it was let in.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import structlog
from homing_agent.pairing.first_server import first_server
from homing_core.errors import HomingError, InvalidDataError, NotFoundError, UnavailableError
from homing_crypto.certificates import check_certificate
from homing_crypto.credentials import client_channel, pairing_channel
from homing_crypto.nodes import KnownNode, PendingPairing
from homing_crypto.pairing.client import readable_addresses
from homing_crypto.pairing.code_claim import Claiming, is_claiming, read_claiming
from homing_crypto.pairing.code_client import (
    accept_entry,
    accept_recognition,
    accept_reply,
    known_node,
    start_by_code,
)
from homing_crypto.pairing.pinned import fetch_unproven

from homing_client.rpc import code_calls
from homing_client.rpc.node_calls import NodeCalls

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable

    import grpc.aio
    from homing_core.addresses import Address
    from homing_core.clock import Clock
    from homing_crypto.certificates import CheckedCertificate
    from homing_crypto.identity import DeviceIdentity
    from homing_crypto.nodes import NodeBook

_CALL_S = 10.0
_TRIES = 3
_PERSON_S = 5 * 60.0
"""How long the node may take to answer: its window is open for three minutes and one more."""
_MAIN_S = 3.0
"""How long one address of the node's main port is tried."""
_PAUSE_S = 0.5

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class PersonAsked:
    """The node knows the code too, and a person there is asked.

    Attributes:
        node_name: the node's; cleaned.
        device_id: this phone's, as the person sees it.
        device_name: this phone's, as the person sees it.
    """

    node_name: str
    device_id: str
    device_name: str


CodeProgress: TypeAlias = PersonAsked | KnownNode


@dataclass(frozen=True, slots=True)
class PhoneHere:
    """Who pairs.

    Attributes:
        identity: this phone's.
        book: where the node is remembered.
        clock: wall time.
        name: what this phone calls itself.
    """

    identity: DeviceIdentity
    book: NodeBook
    clock: Clock
    name: str


async def pair_by_code(
    code: str, addresses: Iterable[Address], phone: PhoneHere
) -> AsyncGenerator[CodeProgress, None]:
    """Pair, and remember the node; ends with it.

    Args:
        code: the digits.
        addresses: of one pairing server; the first that answers gets the only try.
        phone: who pairs.

    Raises:
        RefusedError: the node said no: wrong code, too late, or the person there declined.
        ConflictError: another device was quicker.
        IntegrityError: whoever answered does not know the code.
        UnavailableError: nobody answered; what was begun is taken up at the next start.
    """
    at, node = await first_server(addresses, fetch_unproven)
    earlier = await _left_from_before(phone.book, node)
    if earlier is not None:
        try:
            async for progress in go_on(replace(earlier, at=at), phone):
                yield progress
        except UnavailableError:
            raise
        except HomingError as error:  # of a window that is closed by now
            _log.info("pairing.begun_anew", code=error.code.value)
        else:
            return
    async with pairing_channel(at, node) as channel:
        asking = start_by_code(code, phone.identity, node, phone.name, at)
        try:
            reply = await _insist(lambda: code_calls.start(channel, asking.start, _CALL_S))
        except UnavailableError as error:
            msg = "no pairing is open at that address"
            raise UnavailableError(
                msg, "Give the one that the node shows with its code."
            ) from error
    async for progress in go_on(accept_reply(asking, reply), phone):
        yield progress


async def go_on(claiming: Claiming, phone: PhoneHere) -> AsyncGenerator[CodeProgress, None]:
    """Take a pairing to its end, from wherever it is; raises as `pair_by_code`."""
    try:
        node = check_certificate(claiming.certificate_der)
        async with pairing_channel(claiming.at, node) as channel:
            if claiming.addresses is None:
                await _write(phone, claiming)
                claiming = await _recognise(channel, claiming)
                await _write(phone, claiming)
            yield PersonAsked(claiming.name, phone.identity.device_id, phone.name)
            paired = await _enter(channel, claiming, phone)
    except UnavailableError:
        raise  # it may have been let in: asked again at the next start
    except HomingError:
        await asyncio.to_thread(phone.book.finish_pairing, claiming.attempt_id, None)
        raise
    await asyncio.to_thread(phone.book.finish_pairing, claiming.attempt_id, paired)
    yield paired


async def resume_by_code(pending: PendingPairing, phone: PhoneHere) -> KnownNode:
    """Take up what an earlier process did not end; raises as `pair_by_code`."""
    try:
        claiming = read_claiming(pending.link)
    except InvalidDataError:
        await asyncio.to_thread(phone.book.finish_pairing, pending.link_id, None)
        raise
    async for progress in go_on(claiming, phone):
        if isinstance(progress, KnownNode):
            return progress
    msg = "the pairing came to no end"
    raise UnavailableError(msg, "Pair again.")


async def _recognise(channel: grpc.aio.Channel, claiming: Claiming) -> Claiming:
    attempt, mine = claiming.attempt_id, claiming.confirmation
    answer = await _insist(lambda: code_calls.confirm(channel, attempt, mine, _CALL_S))
    return accept_recognition(claiming, answer)


async def _enter(channel: grpc.aio.Channel, claiming: Claiming, phone: PhoneHere) -> KnownNode:
    """Wait for the person; where the pairing server has gone, see whether the node knows us."""
    attempt = claiming.attempt_id
    try:
        entry = await _insist(lambda: code_calls.enter(channel, attempt, _PERSON_S))
    except (UnavailableError, NotFoundError) as error:
        paired = await _from_main_port(claiming, phone)
        if paired is not None:
            return paired
        if isinstance(error, NotFoundError):
            raise
        msg = "the pairing broke off before the node let this phone in"
        raise UnavailableError(msg, "Ask for a new code on the node: homing-node pair.") from error
    return accept_entry(claiming, entry, phone.clock.now())


async def _from_main_port(claiming: Claiming, phone: PhoneHere) -> KnownNode | None:
    """The node's entry, if it lets this phone in. It is the node that was recognised, or nobody."""
    node = check_certificate(claiming.certificate_der)
    for address in readable_addresses(claiming.addresses or ()):
        async with client_channel(address, phone.identity, node) as channel:
            try:
                info = await NodeCalls(channel).get_node(_MAIN_S)
            except HomingError as error:
                _log.info("pairing.not_let_in", code=error.code.value)
            else:
                return known_node(claiming, info.role, info.scopes, phone.clock.now())
    return None


async def _insist(
    call: Callable[[], Awaitable[code_calls.AnswerT]],
) -> code_calls.AnswerT:
    """Repeat a call whose answer may have been lost."""
    tries = _TRIES
    while True:
        try:
            return await call()
        except UnavailableError:
            tries -= 1
            if not tries:
                raise
            await asyncio.sleep(_PAUSE_S)


async def _write(phone: PhoneHere, claiming: Claiming) -> None:
    now = phone.clock.now()
    pending = PendingPairing(claiming.attempt_id, claiming.to_text(), phone.name, now)
    await asyncio.to_thread(phone.book.begin_pairing, pending)


async def _left_from_before(book: NodeBook, node: CheckedCertificate) -> Claiming | None:
    """What this phone has under way with this node: its code was right already."""
    for pending in await asyncio.to_thread(book.pending_pairings):
        if not is_claiming(pending.link):
            continue
        try:
            claiming = read_claiming(pending.link)
        except InvalidDataError:
            continue
        if claiming.certificate_der == node.der and claiming.addresses is not None:
            return claiming
    return None
