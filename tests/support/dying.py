"""A process that ends at a line of some modules, played within this one."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import FrameType, ModuleType

Trace: TypeAlias = "Callable[[FrameType, str, object], Trace | None]"


class Died(BaseException):  # no error: the process has ended
    """The process ended here: nothing that comes later happens."""


@contextlib.contextmanager
def dying(
    after: int,
    *modules: ModuleType,
    dull: frozenset[str] = frozenset(),
    error: type[BaseException] = Died,
) -> Generator[list[int]]:
    """Die at the `after`-th line that is run in these modules, counted from 1.

    Args:
        after: which line.
        modules: whose lines count.
        dull: functions whose lines do not: they change nothing.
        error: what is raised there.

    Yields:
        One number: how many lines were run.
    """
    watched = {module.__file__ for module in modules}
    lines = [0]

    def trace(frame: FrameType, event: str, _: object) -> Trace | None:
        if frame.f_code.co_filename not in watched or frame.f_code.co_name in dull:
            return None
        if event == "line" and lines[0] < after:
            lines[0] += 1
            if lines[0] == after:
                raise error
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield lines
    finally:
        sys.settrace(before)
