"""Every limit that decoding holds the other side to, in one table.

The limit on a whole message is the transport's (4 MiB by default in gRPC); these bound what is
inside one.
"""

from __future__ import annotations

from typing import Final

MAX_MESSAGES: Final = 4096
"""Messages in one request."""
MAX_PARTS: Final = 256
"""Parts in one message."""
MAX_TOOLS: Final = 512
"""Tools in one request."""
MAX_TOPICS: Final = 32
"""Topics of one tool, repeats included."""
MAX_SCOPES: Final = 64
"""Scopes of one device, repeats included."""
MAX_LIMIT_PATTERNS: Final = 4096
"""Patterns of one kind in a device's limits, as the tighter of several lists may have them."""
MAX_STOPS: Final = 16
"""Stop strings in one request."""

MAX_SAMPLES: Final = 16
"""Answers to one prompt."""
MAX_LOGPROBS: Final = 20
"""Alternatives for one token."""
MAX_EVENT_TOKENS: Final = 4096
"""Tokens in one event."""
MAX_EMBEDDED_TEXTS: Final = 256
"""Texts to turn into vectors at once."""
MAX_DIMENSIONS: Final = 16 << 10
"""Numbers in one vector."""
MAX_ADAPTERS: Final = 64
"""LoRA adapters of one engine."""

MAX_MODELS: Final = 256
"""Models that one node serves."""
MAX_WARM_PREFIXES: Final = 1024
"""Warm prefixes of one node."""
MAX_NODE_ADDRESSES: Final = 64
"""Addresses of one node."""
MAX_ADDRESS_CHARS: Final = 300
"""Characters of one address."""
MAX_DEVICES: Final = 4096
"""Devices that one node knows."""
MAX_CAPABILITIES: Final = 256
"""Capabilities of one node."""
MAX_JOBS: Final = 1000
"""Jobs, or questions of jobs, in one answer."""

MAX_TEXT_BYTES: Final = 1 << 20
"""UTF-8 bytes of one text: a part, a delta, a tool's result."""
MAX_DESCRIPTION_BYTES: Final = 16 << 10
"""UTF-8 bytes of a tool's description."""
MAX_STOP_BYTES: Final = 256
"""UTF-8 bytes of one stop string."""
MAX_TOKEN_CHARS: Final = 256
"""Characters of one token; longer ones are cut when sent."""
MAX_TOOL_NAME_CHARS: Final = 128
"""Characters of a tool's own name."""
MAX_NAME_CHARS: Final = 256
"""Characters of any other name: a model, a server, a called name, a source label, a unit."""
MAX_LINE_CHARS: Final = 1000
"""Characters of one line for a person: an error, a hint, a note."""
MAX_CODE_CHARS: Final = 32
"""Characters of an error's stable name."""

MAX_JSON_BYTES: Final = 256 << 10
"""UTF-8 bytes of one JSON text: arguments, a schema, a job's detail."""
MAX_JSON_DEPTH: Final = 64
"""Arrays and objects inside one another."""
MAX_JSON_NUMBER_CHARS: Final = 320
"""Characters of one JSON number; every finite double fits."""

MAX_SIGNATURE_BYTES: Final = 128
"""Bytes of a signature; ECDSA P-256 in DER takes at most 72."""

MAX_TEMPERATURE: Final = 100.0
"""Highest sampling temperature."""
PROBABILITY_SLACK: Final = 1e-6
"""How far a probability may stand outside [0, 1] through rounding; it is then clamped."""
