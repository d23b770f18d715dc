"""Accepts, reads greetings, and does what `policy` decides; the door's own process runs it."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import itertools
import socket
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from homing_node.door.client_hello import MAX_BYTES
from homing_node.door.events import Answered, Arrived, Dial, Drop, Event, Greeted, Left, TimePassed
from homing_node.door.floor import Reason, alert, judge
from homing_node.door.forward import Link, Side
from homing_node.door.names import household, packed, socket_name, written
from homing_node.door.policy import Policy
from homing_node.door.upstream import dial_as

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from homing_node.door.control import Setup

ACCEPT_AT_ONCE: Final = 64
"""Connections taken before those at hand are looked at again."""
_NO_ROOM: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_PAUSE_S: Final = 0.1
_LEAST_WAIT_S: Final = 0.02


@dataclass(slots=True, eq=False)
class _Guest:
    """A connection.

    Attributes:
        address: 4 or 16 bytes.
        socket: the caller's; a transport's once there is a link.
        greeting: what came before there was one.
    """

    number: int
    address: bytes
    socket: socket.socket
    greeting: bytearray = field(default_factory=bytearray)
    link: Link | None = None
    greeted: bool = False
    reading: bool = False


class Gate:
    """All connections of one door. Belongs to one event loop; its folder is the current one.

    Args:
        setup: how the node wants it.
        listeners: listening sockets.
        refused: told of each connection that was of no use: its address and why.
    """

    def __init__(
        self,
        setup: Setup,
        listeners: tuple[socket.socket, ...],
        refused: Callable[[str, Reason], None],
    ) -> None:
        """Nobody is let in yet."""
        self._setup = setup
        self._listeners = listeners
        self._refused = refused
        self._policy = Policy(setup.caps)
        self._guests: dict[int, _Guest] = {}
        self._numbers = itertools.count(setup.first)
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()
        self._draining = False
        self.empty = asyncio.Event()

    def open(self) -> None:
        """Accept from now on."""
        for listener in self._listeners:
            listener.setblocking(False)  # noqa: FBT003  # the method takes nothing else
            self._loop.add_reader(listener, self._accept, listener)

    def drain(self) -> None:
        """Accept no more; `empty` is set once all calls have ended."""
        self._draining = True
        for listener in self._listeners:
            self._loop.remove_reader(listener)
            listener.close()
        for guest in [guest for guest in self._guests.values() if guest.link is None]:
            self._end(guest)
            self.take(Left(guest.number))
        self._look_empty()

    def take(self, event: Event) -> None:
        """Let the policy decide, and do it."""
        for action in self._policy.take(event, self._loop.time()):
            guest = self._guests.get(action.number)
            match action:
                case Drop() if guest is not None:
                    self._drop(guest, action.reason)
                case Dial() if guest is not None:
                    self._dial(guest)
                case _:
                    pass
        self._arm()

    def _accept(self, listener: socket.socket) -> None:
        for _ in range(ACCEPT_AT_ONCE):
            try:
                connection, address = listener.accept()
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                if error.errno in _NO_ROOM:
                    self._make_room(listener)
                    return
                continue  # it was gone before it was accepted
            self._greet(connection, address[0])

    def _make_room(self, listener: socket.socket) -> None:
        oldest = self._policy.oldest_outside()
        if oldest is not None:
            self._drop(self._guests[oldest], Reason.CROWDED_OUT)
            self.take(Left(oldest))
            return
        self._loop.remove_reader(listener)
        self._loop.call_later(_PAUSE_S, self._resume, listener)

    def _resume(self, listener: socket.socket) -> None:
        if not self._draining:
            self._loop.add_reader(listener, self._accept, listener)

    def _greet(self, connection: socket.socket, host: str) -> None:
        try:
            connection.setblocking(False)  # noqa: FBT003  # as above
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            address = packed(host)
        except (OSError, ValueError):
            connection.close()
            return
        guest = _Guest(next(self._numbers), address, connection)
        self._guests[guest.number] = guest
        self.take(Arrived(guest.number, household(address)))
        self._read(guest)  # mostly its greeting is there already
        if guest.number in self._guests and not guest.greeted:
            guest.reading = True
            self._loop.add_reader(connection, self._read, guest)

    def _read(self, guest: _Guest) -> None:
        try:
            data = guest.socket.recv(MAX_BYTES + 1 - len(guest.greeting))
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data:
            self._leave(guest, Reason.LEFT)
            return
        guest.greeting += data
        found = judge(guest.greeting, hybrid=self._setup.hybrid)
        if isinstance(found, Reason):
            self._leave(guest, found)
        elif found is not None:
            self._stop_reading(guest)  # until it is linked
            guest.greeted = True
            self.take(Greeted(guest.number))

    def _leave(self, guest: _Guest, reason: Reason) -> None:
        self._drop(guest, reason)
        self.take(Left(guest.number))

    def _drop(self, guest: _Guest, reason: Reason) -> None:
        """End it, and say why, to the caller as well where TLS has a word for it."""
        if guest.link is None and (text := alert(reason)):
            with contextlib.suppress(OSError):
                guest.socket.send(text)
                guest.socket.shutdown(socket.SHUT_WR)
        self._refused(written(guest.address), reason)
        self._end(guest)

    def _end(self, guest: _Guest) -> None:
        if self._guests.pop(guest.number, None) is None:
            return
        if guest.link is not None:
            guest.link.abort()
        else:
            self._stop_reading(guest)
            guest.socket.close()
        self._look_empty()

    def _stop_reading(self, guest: _Guest) -> None:
        if guest.reading:
            self._loop.remove_reader(guest.socket)
        guest.reading = False

    def _dial(self, guest: _Guest) -> None:
        try:
            upstream = dial_as(socket_name(guest.number, guest.address))
        except OSError:
            self._drop(guest, Reason.NOT_REACHED)
            self._loop.call_soon(self.take, Left(guest.number))
            return
        link = Link(
            on_answer=lambda: self.take(Answered(guest.number)),
            on_end=lambda first: self._ended(guest, first),
        )
        guest.link = link
        self._run(self._connect(guest, link, upstream))

    async def _connect(self, guest: _Guest, link: Link, upstream: socket.socket) -> None:
        node, _ = await self._loop.create_unix_connection(lambda: link.node, sock=upstream)
        node.write(bytes(guest.greeting))
        guest.greeting.clear()
        await self._loop.connect_accepted_socket(lambda: link.caller, guest.socket)
        if guest.number in self._guests:
            link.begin()
        else:  # dropped meanwhile
            link.abort()

    def _run(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _ended(self, guest: _Guest, first: Side) -> None:
        if self._guests.pop(guest.number, None) is None:
            return
        if not self._policy.is_proven(guest.number):
            reason = Reason.LEFT if first is Side.CALLER else Reason.SHUT_OUT
            self._refused(written(guest.address), reason)
        self.take(Left(guest.number))
        self._look_empty()

    def _look_empty(self) -> None:
        if self._draining and not self._guests:
            self.empty.set()

    def _arm(self) -> None:
        due = self._policy.next_deadline()
        if due is not None and self._timer is None:
            wait = max(due - self._loop.time(), _LEAST_WAIT_S)
            self._timer = self._loop.call_later(wait, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self.take(TimePassed())
