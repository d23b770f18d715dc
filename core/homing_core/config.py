"""Configuration: TOML text into a frozen dataclass, with errors that name the line's key.

Reading the file is the caller's business; here is only text in, values out. Environment variables
override single keys: `HOMING_` + section + `_` + key, such as `HOMING_LINK_PORT`.
"""

from __future__ import annotations

import tomllib
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_type_hints

import cattrs
from cattrs.v import format_exception, transform_error

from homing_core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

T = TypeVar("T")

HERE = "{here}"
"""In an error of a section that does not know where it stands: its own place."""
_WORDS: dict[type[Any], str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "text in quotes",
    list: "a list",
    dict: "a section",
}
_HINT = "Correct the line, or delete it to use the default."


def parse_config(  # noqa: PLR0913  # what a file is read with; most of it has a default
    text: str,
    cls: type[T],
    source: str = "configuration",
    environ: Mapping[str, str] | None = None,
    prefix: str = "HOMING_",
    *,
    others: Collection[str] | None = None,
) -> T:
    """Read TOML into `cls`, a dataclass of sections, each a dataclass with defaults throughout.

    Args:
        text: the file's content; empty gives every default.
        cls: the dataclass to fill.
        source: what to call the file in an error.
        environ: overrides, read as TOML values where they parse as such and as text otherwise.
        prefix: what an override's name starts with.
        others: variables with the prefix that mean something else; any further one is refused.
            None where the prefix is not this program's alone.

    Raises:
        ConfigError: not TOML, an unknown key, a value of the wrong type, or a variable that names
            a section but none of its keys.
    """
    try:
        raw: dict[str, Any] = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        msg = f"{source} is not valid TOML: {error}"
        raise ConfigError(msg, "Correct the file, or move it away to use the defaults.") from error
    if others is not None:
        _refuse_strangers(cls, environ or {}, prefix, others)
    overridden = _apply_overrides(raw, cls, environ or {}, prefix)
    converter = cattrs.Converter(forbid_extra_keys=True)
    for basic in (int, float, bool, str):
        converter.register_structure_hook(basic, _strict(basic))
    converter.register_structure_hook_func(lambda kind: kind == tuple[str, ...], _texts)
    try:
        return converter.structure(raw, cls)
    except cattrs.BaseValidationError as error:
        # The path of a key is `$.section.key`; what concerns the whole file has none to show.
        first = transform_error(error, format_exception=_describe)[0].removesuffix(" @ $")
        what = _placed(first)
        for key, variable in overridden.items():
            if what.endswith(f" at {key}") or what.startswith((f"{key} ", f"{key}:")):
                msg = f"{variable}: {what}"
                raise ConfigError(msg, "Correct the variable, or unset it.") from error
        msg = f"{source}: {what}"
        raise ConfigError(msg, _HINT) from error


def _refuse_strangers(
    cls: type[Any], environ: Mapping[str, str], prefix: str, others: Collection[str]
) -> None:
    starts = tuple(f"{prefix}{section}_".upper() for section in get_type_hints(cls))
    for variable in sorted(environ):
        if variable.startswith(prefix) and not variable.startswith(starts + tuple(others)):
            sections = ", ".join(start.removeprefix(prefix).rstrip("_") for start in starts)
            msg = f"{variable} names no section of the configuration"
            hint = f"After {prefix} comes one of {sections}. Correct the variable, or unset it."
            raise ConfigError(msg, hint)


def _placed(text: str) -> str:
    """What is wrong, and at which key."""
    what, at, key = text.rpartition(" @ $.")
    if HERE in what:
        return what.replace(HERE, key)
    return f"{what} at {key}" if at else text


def _describe(error: BaseException, kind: type[Any] | None) -> str:
    if isinstance(error, cattrs.ForbiddenExtraKeysError):
        return f"no such key: {', '.join(sorted(error.extra_fields))}"
    # Raised by a section's own __post_init__ or by a hook below: the text is ours, and says more.
    if type(error) is ValueError and error.args:
        return str(error)
    if isinstance(kind, type) and is_dataclass(kind):
        return "expected a section"
    return format_exception(error, kind)


def _texts(value: object, _: object) -> tuple[str, ...]:
    """A list of texts; a text alone would otherwise be taken apart into its letters."""
    if not isinstance(value, list):
        msg = "expected a list of texts"
        raise ValueError(msg)  # noqa: TRY004  # cattrs words a TypeError itself
    items = cast("list[object]", value)
    if not all(isinstance(item, str) for item in items):
        msg = "expected a list of texts"
        raise ValueError(msg)
    return tuple(cast("list[str]", items))


def _strict(basic: type[Any]) -> Any:  # noqa: ANN401  # cattrs hooks are untyped by nature
    """A hook that takes no value of another type: "8" is not 8, and true is not 1."""

    def structure(value: object, _: object) -> object:
        if basic is float and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        if type(value) is not basic:
            msg = f"expected {_WORDS[basic]}, found {_WORDS.get(type(value), 'something else')}"
            raise ValueError(msg)
        return value

    return structure


def _apply_overrides(
    raw: dict[str, Any], cls: type[Any], environ: Mapping[str, str], prefix: str
) -> dict[str, str]:
    """Put the overrides in; gives `section.key` and the variable for each.

    Raises:
        ConfigError: a variable names a section but none of its keys.
    """
    found: dict[str, str] = {}
    for section, kind in get_type_hints(cls).items():
        keys = dict(_keys(kind))
        start = f"{prefix}{section}_".upper()
        known = {f"{start}{'_'.join(path)}".upper(): path for path in keys.values()}
        for variable in sorted(name for name in environ if name.startswith(start)):
            if variable not in known:
                msg = f"{variable} names no key of the section {section}"
                hint = f"Its keys are: {', '.join(keys)}. Correct the variable, or unset it."
                raise ConfigError(msg, hint)
            path = (section, *known[variable])
            if _put(raw, path, _override_value(environ[variable])):
                found[".".join(path)] = variable
    return found


def _keys(kind: object) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Keys of a section and of those within it, as they are written and as a path."""
    for key, inner in get_type_hints(kind).items() if isinstance(kind, type) else ():
        if is_dataclass(inner):
            yield from ((f"{key}.{name}", (key, *path)) for name, path in _keys(inner))
        else:
            yield key, (key,)


def _put(raw: dict[str, Any], path: tuple[str, ...], value: object) -> bool:
    table: Any = raw
    for name in path[:-1]:
        if not isinstance(table, dict):
            return False
        table = table.setdefault(name, {})  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # TOML
    if not isinstance(table, dict):
        return False
    table[path[-1]] = value
    return True


def _override_value(text: str) -> object:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
