"""Core values to wire messages and back. The only place where both are seen.

One module per concept: `common` (provenance, places, errors), `tools`, `approvals`, `messages`,
`generation` (requests), `signals` (how sure a model was), `events`, `jobs`,
`access` (roles and scopes). Each has `encode_x(value)` and `decode_x(message)`.

- Decoding is strict. What is malformed or over a limit (`limits`) raises `InvalidDataError`, whose
  one line names the field and never repeats what the other side wrote.
- An enum's UNSPECIFIED, and any number that this version does not know, is read as the strictest
  meaning that the `.proto` comments give; a role is refused.
- Encoding raises `InvalidDataError` for a value that has no form on the wire: a number out of
  range, NaN, or a lone surrogate in a name, a description or anything else whose exact text counts.
  In text that is only read (messages, results, notes) lone surrogates become U+FFFD instead, so
  that one odd file name in a tool's result does not stop a conversation. Inside JSON they survive
  as escapes.
"""
