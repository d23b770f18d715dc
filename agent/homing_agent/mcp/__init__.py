"""Tools of MCP servers, through the official SDK.

    config.py        the `mcpServers` JSON that other clients use (reading.py, servers.py)
    words.py         what the operator says of a server: effects, limits, which tools
    environment.py   what of our environment a server gets to see
    guard.py         no message may be larger, more intricate or more frequent than this
    stdio.py         a server as a child process (child.py, stderr.py)
    leftover.py      ends the servers of a daemon that was killed
    web.py           a server over streamable HTTP
    ways.py          one or the other
    connection.py    one session with a server
    definitions.py   a server's tools as they are offered: cleaned, with schemas that can be checked
    schemas.py       a server's schema in the subset that is checked (schemaparts.py)
    consent.py       which definitions the operator has allowed
    offers.py        what is offered, what of it is allowed, and the tools that come of it
    server.py        keeps one server up, with pauses (backoff.py)
    calls.py         one call, from its arguments to its output (tasks.py)
    settling.py      after a call was given up
    content.py       what a server answers, as text and files
    status.py        what a command shows
    tools.py         a server's tool as a `homing_agent.tool.Tool`
    host.py          all servers of this device

The SDK is an extra on the phone, so it is imported where it is used.
"""
