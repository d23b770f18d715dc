"""`keys protect` of both command lines: how the files of keys are protected, and changing it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol, TypeAlias

import typer

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_crypto.vault.base import KeyVault, Protection

    from homing_agent.runtime.paths import ProgramPaths
    from homing_agent.runtime.unlock import KeyPlace

DataDir: TypeAlias = Annotated[
    Path | None, typer.Option("--data-dir", metavar="DIR", help="The program's data directory.")
]
ConfigFile: TypeAlias = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="Configuration (TOML).")
]
Json: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print JSON for scripts, one object a line.")
]
With: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--with",
        metavar="WAY",
        help="passphrase, keyring, or file (nothing but the file's mode).",
        show_default="show how they are protected",
    ),
]
PassphraseFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--new-passphrase-file",
        metavar="FILE",
        help="Take the new passphrase from this file.",
        show_default="ask for it",
    ),
]

_WORDS = {
    "file": "by the file's mode alone: whoever holds the disk has the keys",
    "passphrase": "by a passphrase",
    "keyring": "by a key in the system's keyring",
}
_DONE = {
    "file": "From here on whoever holds the disk has the keys.",
    "passphrase": "Keep the passphrase: nobody can open the keys without it. "
    "For a start that nobody watches see docs/keys.md.",
    "keyring": "The keys now belong to this keyring: a copy of the files alone opens nowhere.",
}
_REMAINS = (
    "What the disk held before may still be found on it: in a journal, a snapshot, a backup, or "
    "the spare blocks of an SSD. To be rid of that, rotate the keys: {program} keys rotate"
)


class FindPlace(Protocol):
    """Where a program keeps its keys; reads its configuration, so that a broken one is told."""

    def __call__(self, data_dir: Path | None, config: Path | None) -> tuple[ProgramPaths, KeyPlace]:
        """Raises `ConfigError`."""
        ...


def _leave_running(_: ProgramPaths) -> None:
    """Whoever started the program ends it."""


def add_protect_command(
    group: typer.Typer,
    program: str,
    find: FindPlace,
    make_way: Callable[[ProgramPaths], None] = _leave_running,
) -> None:
    """Add the command to a group.

    Args:
        group: `keys` of the program.
        program: what it is called.
        find: finds its places.
        make_way: ends what the program itself started and what would write the keys.
    """
    examples = f"""
[bold]Examples[/bold]

{program} keys protect

{program} keys protect --with passphrase

{program} keys protect --with keyring
"""

    @group.command("protect", epilog=examples)
    def protect(  # noqa: PLR0913  # one for each option
        context: typer.Context,
        *,
        way: With = None,
        new_passphrase_file: PassphraseFile = None,
        as_json: Json = False,
        data_dir: DataDir = None,
        config: ConfigFile = None,
    ) -> None:
        """Show or change how this device's keys are protected on disk.

        A kill at any moment loses no key.
        """
        around = context.obj  # what was said between `keys` and `protect`
        paths, place = find(
            data_dir or getattr(around, "data_dir", None),
            config or getattr(around, "config", None),
        )
        if way is None:
            _show(place, as_json=as_json)
        else:
            _protect(paths, place, way, new_passphrase_file, make_way, as_json=as_json)


def _show(place: KeyPlace, *, as_json: bool) -> None:
    from homing_crypto.vault.files import key_files, protections  # noqa: PLC0415  # keep help quick

    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # as above

    found = protections(key_files(place.folder))
    for path, way in found.items():
        if as_json:
            print_json({"event": "key_file", "file": str(path), "protected_by": way.value})
        else:
            typer.echo(f"{path}: protected {_WORDS[way.value]}.")
    if not found and not as_json:
        typer.echo(f"No keys yet. They are made when {place.program} starts.")


def _protect(  # noqa: PLR0913  # the words of the command
    paths: ProgramPaths,
    place: KeyPlace,
    word: str,
    new: Path | None,
    make_way: Callable[[ProgramPaths], None],
    *,
    as_json: bool,
) -> None:
    from homing_core.clock import SystemClock  # noqa: PLC0415  # keep help quick
    from homing_crypto.identity import DeviceIdentity  # noqa: PLC0415  # as above
    from homing_crypto.vault.base import Protection  # noqa: PLC0415  # as above
    from homing_crypto.vault.files import key_files, protect_all  # noqa: PLC0415  # as above

    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # as above
    from homing_agent.runtime.lock import DataDirLock  # noqa: PLC0415  # as above
    from homing_agent.runtime.paths import prepare_data_dir  # noqa: PLC0415  # as above
    from homing_agent.runtime.unlock import somebody_can_be_asked, unlocked  # noqa: PLC0415  # as above

    way = _way(word, new)
    prepare_data_dir(paths)
    asked = somebody_can_be_asked()
    # Opened first: who cannot open the keys ends nothing that runs.
    here = replace(place, start=f"{place.program} keys protect")
    opened_by = unlocked(here, interactive=asked)
    make_way(paths)
    with DataDirLock.acquire(paths):  # a running program would write its keys as it opened them
        files = key_files(place.folder)
        lay_open = bool(files)
        if files:
            protect_all(files, opened_by, lambda: _vault(way, new, interactive=asked))
        else:  # then they never lie unprotected
            vault = _vault(way, new, interactive=asked)
            DeviceIdentity.load_or_create(place.folder, SystemClock(), vault)
            files = key_files(place.folder)
        others = _copies(place.folder, files)
    if as_json:
        print_json(
            {
                "event": "protected",
                "protected_by": way.value,
                "files": [str(path) for path in files],
                "other_files": [str(path) for path in others],
            }
        )
        return
    for path in files:
        typer.echo(f"{path}: now protected {_WORDS[way.value]}.")
    typer.echo(_DONE[way.value])
    if way is not Protection.FILE and lay_open:
        typer.echo(_REMAINS.format(program=place.program))
    for path in others:
        typer.echo(f"Not touched, and perhaps a copy of the keys: {path}")


def _way(word: str, new: Path | None) -> Protection:
    from homing_core.errors import UsageError  # noqa: PLC0415  # keep help quick
    from homing_crypto.vault.base import Protection  # noqa: PLC0415  # as above

    try:
        way = Protection(word)
    except ValueError as error:
        msg = "--with takes one of passphrase, keyring, file"
        raise UsageError(msg, "See --help.") from error
    if new is not None and way is not Protection.PASSPHRASE:
        msg = "--new-passphrase-file goes with --with passphrase"
        raise UsageError(msg, "See --help.")
    return way


def _vault(way: Protection, new: Path | None, *, interactive: bool) -> KeyVault:
    from homing_core.errors import UsageError  # noqa: PLC0415  # keep help quick
    from homing_crypto.vault.base import FileMode, Protection  # noqa: PLC0415  # as above
    from homing_crypto.vault.keyring import KeyringVault  # noqa: PLC0415  # as above
    from homing_crypto.vault.passphrase import PassphraseVault  # noqa: PLC0415  # as above

    from homing_agent.runtime.unlock import (  # noqa: PLC0415  # as above
        ask_new_passphrase,
        passphrase_from_file,
    )

    if way is Protection.FILE:
        return FileMode()
    if way is Protection.KEYRING:
        return KeyringVault()
    if new is not None:
        return PassphraseVault(passphrase_from_file(new))
    if not interactive:
        msg = "there is no terminal to ask for the new passphrase"
        raise UsageError(msg, "Run it on one, or use --new-passphrase-file.")
    return PassphraseVault(ask_new_passphrase())


def _copies(folder: Path, files: tuple[Path, ...]) -> tuple[Path, ...]:
    """What lies beside the files of keys and is called like them."""
    known = set(files)
    return tuple(
        sorted(path for path in folder.glob("*identity*") if path not in known and path.is_file())
    )
