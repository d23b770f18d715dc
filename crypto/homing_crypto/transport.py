"""gRPC's settings for both ends, each with its unit and its reason. Measured, not guessed."""

from __future__ import annotations

from typing import Final

MAX_MESSAGE_BYTES: Final = 4 * 1024 * 1024
"""Largest message. Compressed ones are refused unread, see `NO_COMPRESSION`."""
MAX_METADATA_BYTES: Final = 16 * 1024
"""Largest set of headers."""
MAX_CONCURRENT_RPCS: Final = 1024
"""Calls at once on one server; more are answered RESOURCE_EXHAUSTED. By default one account has 64,
so that many have to join to fill it."""
MAX_CONCURRENT_STREAMS: Final = 80
"""Calls at once on one connection; gRPC's clients let further ones wait. A little more than the
calls that an account may have open, so that it is told in words that it has too many."""
NO_COMPRESSION: Final = 1
"""Bit 0 of gRPC's set of algorithms, "identity": no phone of ours compresses, and what is not
unpacked is no bomb. A compressed request is answered UNIMPLEMENTED."""
MAX_CONNECTIONS: Final = 512
"""Connections at once: more than a node's front door ever lets through (`homing_node.door.policy`:
128 that have proved nothing, 256 that have), so that nobody is refused here. Without a door it is
the only limit, and half-open ones count, hence the short handshake timeout below."""
HANDSHAKE_TIMEOUT_MS: Final = 10_000
"""By default 120 s: five silent sockets then lock a real device out for two minutes."""
KEEPALIVE_TIME_MS: Final = 2_000
"""A phone with a call in flight asks this often whether the node is still there."""
KEEPALIVE_TIMEOUT_MS: Final = 2_000
"""How long it waits for a sign of life on the socket."""
PING_TIMEOUT_MS: Final = 2_500
"""How long it waits for the answer itself. Without it, a relay that still acknowledges TCP hides a
dead peer for a minute; with it, the phone knows in 2.6 to 4.2 s."""
MIN_PING_INTERVAL_MS: Final = 1_000
"""The node allows pings this often; otherwise it cuts the phone off for "too many pings"."""
SERVER_KEEPALIVE_TIME_MS: Final = 20_000
"""The node asks more rarely: a phone that slept resumes its streams anyway."""
SERVER_PING_TIMEOUT_MS: Final = 10_000
"""How long the node waits for the phone's answer before it drops the connection."""
MAX_CONNECTION_AGE_MS: Final = 60 * 60 * 1_000
"""An hour: the backstop that makes every device prove its key anew."""
MAX_CONNECTION_AGE_GRACE_MS: Final = 10 * 60 * 1_000
"""Ten minutes more for the calls on it; streams resume on the next connection."""
INITIAL_BACKOFF_MS: Final = 200
"""First wait before dialling again."""
MAX_BACKOFF_MS: Final = 1_000
"""Longest wait: after an outage of 12 s this reconnects in 0.8 s instead of 3.5 s."""
CONNECT_TIMEOUT_MS: Final = 10_000
"""How long one dialling attempt may take; gRPC calls it the least backoff and defaults to 20 s."""

Options = tuple[tuple[str, int | str], ...]
"""gRPC channel arguments."""

SERVER_OPTIONS: Final[Options] = (
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    ("grpc.absolute_max_metadata_size", MAX_METADATA_BYTES),
    ("grpc.max_concurrent_streams", MAX_CONCURRENT_STREAMS),
    # Otherwise a fast sender's streams may each send megabytes that nobody has asked to read; with
    # it, 64 KiB. A message that is being read has room for all of it either way.
    ("grpc.http2.bdp_probe", 0),
    ("grpc.compression_enabled_algorithms_bitset", NO_COMPRESSION),
    ("grpc.max_allowed_incoming_connections", MAX_CONNECTIONS),
    ("grpc.server_handshake_timeout_ms", HANDSHAKE_TIMEOUT_MS),
    # The name in most examples, min_recv_ping_interval…, does nothing.
    ("grpc.http2.min_ping_interval_without_data_ms", MIN_PING_INTERVAL_MS),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.keepalive_time_ms", SERVER_KEEPALIVE_TIME_MS),
    ("grpc.keepalive_timeout_ms", SERVER_PING_TIMEOUT_MS),
    ("grpc.http2.ping_timeout_ms", SERVER_PING_TIMEOUT_MS),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.max_connection_age_ms", MAX_CONNECTION_AGE_MS),
    ("grpc.max_connection_age_grace_ms", MAX_CONNECTION_AGE_GRACE_MS),
    # Two daemons on one port must be an error, not a coin toss for each connection.
    ("grpc.so_reuseport", 0),
)
"""For `grpc.aio.server(options=…, maximum_concurrent_rpcs=MAX_CONCURRENT_RPCS)`."""

CLIENT_OPTIONS: Final[Options] = (
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    ("grpc.absolute_max_metadata_size", MAX_METADATA_BYTES),
    ("grpc.keepalive_time_ms", KEEPALIVE_TIME_MS),
    ("grpc.keepalive_timeout_ms", KEEPALIVE_TIMEOUT_MS),
    ("grpc.http2.ping_timeout_ms", PING_TIMEOUT_MS),
    ("grpc.http2.max_pings_without_data", 0),
    # An idle phone sends nothing, so its radio sleeps.
    ("grpc.keepalive_permit_without_calls", 0),
    ("grpc.initial_reconnect_backoff_ms", INITIAL_BACKOFF_MS),
    ("grpc.max_reconnect_backoff_ms", MAX_BACKOFF_MS),
    ("grpc.min_reconnect_backoff_ms", CONNECT_TIMEOUT_MS),
    # A channel that is rebuilt after a network change must not share the old one's connection.
    ("grpc.use_local_subchannel_pool", 1),
    # Home is dialled directly: a proxy of the environment is no way to it.
    ("grpc.enable_http_proxy", 0),
)
"""For every channel to a node, on top of the pinned name."""
