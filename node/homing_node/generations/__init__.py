"""Generations that outlive the stream that asked for them.

`content` says whether two requests ask the same; `events` keeps one generation's numbered events;
`table` keeps all of them within limits; `runner` drives the engine and serves readers. The first
three decide and do no I/O.
"""
