"""Asking for a node's recovery secret."""

from __future__ import annotations


def ask_secret(secret_from: str | None, *, recovery: bool) -> str:
    """The recovery secret, asked for without echo or read from standard input; empty for none.

    Args:
        secret_from: `-` for standard input; None asks on the terminal.
        recovery: whether one is to be given at all.

    Raises:
        UsageError: it cannot be one, or nobody can be asked.
    """
    import sys  # noqa: PLC0415  # keep help quick
    from getpass import getpass  # noqa: PLC0415  # as above

    from homing_core.errors import UsageError  # noqa: PLC0415  # as above
    from homing_crypto.recovery_secret import read_recovery_secret  # noqa: PLC0415  # as above

    if secret_from not in {None, "-"} or (secret_from and not recovery):
        msg = "there is a word too many"
        raise UsageError(msg, "One device at a time; --recovery - reads the secret from a pipe.")
    if not recovery:
        return ""
    if secret_from is None:
        if not sys.stdin.isatty():
            msg = "there is no terminal to ask for the recovery secret on"
            raise UsageError(msg, "Give it by a pipe: --recovery -")
        text = getpass("Recovery secret (not shown): ")
    else:
        text = sys.stdin.readline(1000)
    return read_recovery_secret(text)  # a slip of the pen is told before anything is sent
