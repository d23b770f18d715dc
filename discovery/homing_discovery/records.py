"""The two DNS records that are handled by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

# Left out of __all__, but offered by name in zeroconf's package and shown in its examples.
from zeroconf import (  # type: ignore[attr-defined]
    DNSOutgoing,  # pyright: ignore[reportPrivateImportUsage]
    DNSPointer,  # pyright: ignore[reportPrivateImportUsage]
    DNSQuestion,  # pyright: ignore[reportPrivateImportUsage]
)

from homing_discovery.hints import NODES, Service

if TYPE_CHECKING:
    from zeroconf import DNSRecord  # type: ignore[attr-defined]

_FLAGS_QUERY = 0
_TYPE_PTR = 12
_CLASS_IN = 1


def pointed_name(record: DNSRecord, service: Service = NODES) -> str | None:
    """The instance that a pointer of our service type names; None for any other record."""
    if isinstance(record, DNSPointer) and record.name.lower() == service.type:
        return record.alias
    return None


def question(service: Service = NODES) -> DNSQuestion:
    """Who offers our service?"""
    return DNSQuestion(service.type, _TYPE_PTR, _CLASS_IN)


def query(service: Service = NODES) -> DNSOutgoing:
    """The question as a packet to everybody."""
    packet = DNSOutgoing(_FLAGS_QUERY)
    packet.add_question(question(service))
    return packet
