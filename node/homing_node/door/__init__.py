"""The front door: a small process before gRPC that owns accepting (docs/adr/0013-front-door.md).

    front_door      the node's side: keeps the process, tells it who proved itself
    __main__        the process: `python -m homing_node.door`
    gate            accepts, reads greetings, carries out what `policy` decides
    forward         bytes to gRPC and back; upstream: the way there
    policy          who stays, who goes, whose handshake is next, without I/O; events, pool, turns
    client_hello    the first message of TLS, read strictly; floor: what it must offer
    names           a caller's address as the name of a socket
    process         how the system sees it: folder, start, output, end
    control         the lines between the two processes; tally: how they count refusals

TLS is end to end between phone and gRPC: the door has no key and sees what any router sees.
"""
