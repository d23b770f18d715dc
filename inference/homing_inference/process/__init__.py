"""Engines as child processes (docs/adr/0003-processes.md).

    worker        the child: `python -m homing_inference.process.worker`; model_thread: its one loop
    child         one life of a child, seen from the daemon (child_process, in_flight, watchdog)
    kept_child    a child that is started again; restarts: and given up

`homing_inference.host.ChildEngine` is what daemons use.
"""
