"""Which tests a run in several processes keeps in one of them."""

from __future__ import annotations

# The plugin has no types.
from xdist.scheduler import (  # type: ignore[import-untyped]  # pyright: ignore[reportMissingTypeStubs]
    LoadScopeScheduling,
)

# Beginnings of paths. Models compute in one process, so that there is one engine at a time.
TOGETHER = {
    "models": (
        "tests/agent/documents/test_document_tools",
        "tests/e2e/test_demo",
        "tests/e2e/test_first_flight",
        "tests/e2e/test_interruptions",
        "tests/inference/",
        "tests/node/test_counting",
    ),
    # They speak to everybody on the network, or listen for anybody.
    "multicast": (
        "tests/attacks/test_13_",
        "tests/attacks/test_14_",
        "tests/attacks/test_15_",
        "tests/discovery/",
        "tests/e2e/test_discovery",
        "tests/e2e/test_pairing_code",
    ),
}


def group_of(test: str) -> str:
    """What a test is kept together with: one of `TOGETHER`, or the tests of its file.

    Args:
        test: its id, such as `tests/core/test_jobs.py::test_a_job`.
    """
    file = test.split("::", 1)[0]
    for group, beginnings in TOGETHER.items():
        if file.startswith(beginnings):
            return group
    return file


class TogetherScheduling(LoadScopeScheduling):  # type: ignore[misc]
    """Hands out whole groups, the largest first, to whichever process has nothing left to do."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)
