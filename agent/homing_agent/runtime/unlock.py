"""Getting the passphrase of a program's keys, where they have one.

In this order: a pipe that the process that started us left open, the file that the environment
names (for a start that nobody watches), the person at the terminal. Never an argument or the
environment itself: other programs can read both.
"""

from __future__ import annotations

import getpass
import os
import signal
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from homing_core.errors import RefusedError, UsageError
from homing_crypto.vault.base import Protection
from homing_crypto.vault.directory import DirectoryVault
from homing_crypto.vault.files import key_files, protections, read_key_file
from homing_crypto.vault.passphrase import LONGEST_PASSPHRASE, passphrase_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

_TRIES: Final = 3
_MOST_BYTES: Final = LONGEST_PASSPHRASE * 4 + 2


@dataclass(frozen=True, slots=True)
class KeyPlace:
    """Where a program keeps its keys.

    Attributes:
        program: what it is called.
        folder: with the files of keys.
        variable: of the environment; names a file with the passphrase.
        start: the command that asks for the passphrase on a terminal.
    """

    program: str
    folder: Path
    variable: str
    start: str


def somebody_can_be_asked() -> bool:
    """Whether input and prompt are on a terminal."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def unlocked(
    place: KeyPlace,
    *,
    interactive: bool,
    pipe: int | None = None,
    environ: Mapping[str, str] | None = None,
) -> DirectoryVault:
    """What opens a program's keys, however they are protected; as `wanted_passphrase`."""
    given = wanted_passphrase(place, interactive=interactive, pipe=pipe, environ=environ)
    return DirectoryVault(given)


def wanted_passphrase(
    place: KeyPlace,
    *,
    interactive: bool,
    pipe: int | None = None,
    environ: Mapping[str, str] | None = None,
) -> str | None:
    """The passphrase that the keys want; None if they want none. It has been tried.

    Args:
        place: where the keys are.
        interactive: whether a person may be asked.
        pipe: a descriptor to read it from; it is closed.
        environ: the environment; None takes the process's own.

    Raises:
        UsageError: there is nobody to ask, or the file cannot be used.
        RefusedError: it is wrong.
        IntegrityError: a file of keys is damaged.
    """
    handed = None if pipe is None else _from_pipe(pipe)
    wanting = _wanting(place)
    if not wanting:
        return None
    if handed:
        return _tried(wanting, handed)
    named = (os.environ if environ is None else environ).get(place.variable)
    if named:
        return _tried(wanting, passphrase_from_file(Path(named)))
    if not interactive:
        msg = f"the keys of {place.program} are protected by a passphrase, and nobody can be asked"
        hint = f"Run {place.start} on a terminal, or name a file that holds it: {place.variable}"
        raise UsageError(msg, hint)
    for _ in range(_TRIES - 1):
        try:
            return _tried(wanting, ask_passphrase(f"Passphrase of {place.program}'s keys: "))
        except RefusedError as error:
            sys.stderr.write(f"{error.what}\n")
    return _tried(wanting, ask_passphrase(f"Passphrase of {place.program}'s keys: "))


def passphrase_from_file(path: Path) -> str:
    """A file's first line, which is all that it may hold.

    Raises:
        UsageError: it cannot be read, is open to every user, or is no passphrase.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            facts = os.fstat(handle)
            if not stat.S_ISREG(facts.st_mode):
                msg = f"{path} is not a file"
                raise UsageError(msg, "Name the file that holds the passphrase.")
            # systemd hands a credential over with an access list, which shows as the group's mode.
            if facts.st_mode & (stat.S_IROTH | stat.S_IWOTH):
                msg = f"{path} is open to every user of this computer"
                raise UsageError(msg, f"Close it: chmod 600 '{path}'")
            raw = file.read(_MOST_BYTES + 1)
    except OSError as error:
        msg = f"the passphrase's file {path} cannot be read: {error.strerror or 'refused'}"
        raise UsageError(msg, "Check its name, owner and mode.") from error
    try:
        return _text(raw)
    except UsageError as error:
        msg = f"{path} holds no passphrase: {error.what}"
        raise UsageError(msg, error.hint) from error


def ask_passphrase(prompt: str) -> str:
    """Ask the person at the terminal, without an echo.

    Raises:
        UsageError: there is no terminal any more, or what was typed is too short or too long.
        KeyboardInterrupt: they pressed Ctrl-C.
    """
    # asyncio's own handler would only take note of Ctrl-C, while this waits.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        typed = getpass.getpass(prompt, sys.stderr)
    except (EOFError, OSError) as error:
        msg = "nobody typed a passphrase"
        raise UsageError(msg, "Try again on a terminal.") from error
    finally:
        signal.signal(signal.SIGINT, before)
    return typed


def ask_new_passphrase() -> str:
    """Ask for a new passphrase, twice.

    Raises:
        UsageError: both differ, or it is too short or too long.
    """
    first = ask_passphrase("New passphrase (it is not shown): ")
    passphrase_bytes(first)
    if ask_passphrase("The same again: ") != first:
        msg = "the two passphrases differ"
        raise UsageError(msg, "Nothing was changed. Try again.")
    return first


def hand_over(passphrase: str) -> int:
    """A pipe's reading end from which another process of ours can take the passphrase."""
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as pipe:  # far less than a pipe holds
        pipe.write(passphrase.encode())
    return reading


def _wanting(place: KeyPlace) -> tuple[Path, ...]:
    ways = protections(key_files(place.folder))
    return tuple(path for path, way in ways.items() if way is Protection.PASSPHRASE)


def _tried(wanting: tuple[Path, ...], passphrase: str) -> str:
    """The passphrase, if it opens the first file; all of them have the same."""
    try:
        vault = DirectoryVault(passphrase)
    except UsageError as error:  # such as an empty line: nobody's passphrase
        msg = "that is not the passphrase of these keys"
        raise RefusedError(msg, "Try again. Nobody can open them without it.") from error
    vault.reveal(read_key_file(wanting[0]))
    return passphrase


def _from_pipe(descriptor: int) -> str:
    try:
        with os.fdopen(descriptor, "rb") as pipe:
            return pipe.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError as error:
        msg = "there is no pipe to take the passphrase from"
        raise UsageError(msg, "That option is for Homing's own use.") from error


def _text(raw: bytes) -> str:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        msg = "the passphrase's file is not UTF-8 text"
        raise UsageError(msg, "Write it anew.") from error
    text = text.removesuffix("\n").removesuffix("\r")
    passphrase_bytes(text)
    if "\n" in text:
        msg = "the passphrase's file has more than one line"
        raise UsageError(msg, "Let it hold the passphrase alone.")
    return text
