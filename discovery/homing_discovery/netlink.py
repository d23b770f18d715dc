"""Linux's own news of interfaces: rtnetlink messages (rtnetlink(7), netlink(7))."""

from __future__ import annotations

import socket
import struct

RTMGRP_LINK = 0x1
RTMGRP_IPV4_IFADDR = 0x10
RTMGRP_IPV6_IFADDR = 0x100

_NETLINK_ROUTE = 0
_RTM_NEWLINK = 16
_RTM_DELLINK = 17
_IFF_RUNNING = 0x40
_HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence, port of the sender
_LINK = struct.Struct("=BxHiII")  # family, hardware type, index, flags, changed flags
_ALIGN = 4


def open_netlink() -> socket.socket:
    """A non-blocking socket that hears of links and addresses coming and going.

    Raises:
        OSError: the system has no netlink, or does not let this process listen to it.
    """
    family = getattr(socket, "AF_NETLINK", None)
    if family is None:
        msg = "no netlink on this system"
        raise OSError(msg)
    news = socket.socket(family, socket.SOCK_RAW, _NETLINK_ROUTE)
    try:
        news.settimeout(0)
        news.bind((0, RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR))
    except OSError:
        news.close()
        raise
    return news


def link_states(data: bytes) -> dict[int, bool]:
    """Which links a datagram speaks of, by index, and whether each can carry traffic.

    Other messages, and whatever is cut short, are passed over; it never raises.
    """
    found: dict[int, bool] = {}
    at = 0
    while at + _HEADER.size <= len(data):
        length, kind, _, _, _ = _HEADER.unpack_from(data, at)
        if length < _HEADER.size or at + length > len(data):
            break
        if kind in {_RTM_NEWLINK, _RTM_DELLINK} and length >= _HEADER.size + _LINK.size:
            _, _, index, flags, _ = _LINK.unpack_from(data, at + _HEADER.size)
            found[index] = kind == _RTM_NEWLINK and bool(flags & _IFF_RUNNING)
        at += -(-length // _ALIGN) * _ALIGN
    return found
