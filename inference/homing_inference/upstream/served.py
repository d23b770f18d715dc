"""What a server serves and what it can do, from what it says of itself. No I/O."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from homing_core.errors import ConfigError, HomingError

from homing_inference.formats.select import choose
from homing_inference.upstream.wire import count_of, list_of, object_of, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

UNKNOWN_CONTEXT: Final = 4096
"""Tokens, where a server does not say what its model holds."""
_MANY: Final = 8
"""Requests at once, where a server does not say how many it takes."""
_MAX_LISTED: Final = 12
_MAX_NAME: Final = 80
_MAX_MODELS: Final = 10_000


class Kind(Enum):
    """Which program it is; each has its own extras beyond OpenAI's API."""

    LLAMA_SERVER = "llama-server"
    LLAMA_CPP_PYTHON = "llama-cpp-python"
    VLLM = "vllm"
    OLLAMA = "ollama"
    LM_STUDIO = "lm-studio"
    OTHER = "other"

    @property
    def continues(self) -> bool:
        """Whether it goes on writing a partial answer."""
        return self in {Kind.LLAMA_SERVER, Kind.VLLM}

    @property
    def samples(self) -> bool:
        """Whether `n` answers may be asked for; those who ignore or refuse it are asked n times."""
        return self in {Kind.LLAMA_SERVER, Kind.VLLM, Kind.OTHER}

    @property
    def thinking_budget(self) -> str:
        """The field for a budget; empty if it knows none."""
        names = {Kind.LLAMA_SERVER: "thinking_budget_tokens", Kind.VLLM: "thinking_token_budget"}
        return names.get(self, "")

    @property
    def has_health(self) -> bool:
        """Whether it has `/health`."""
        return self in {Kind.LLAMA_SERVER, Kind.VLLM}


@dataclass(frozen=True, slots=True)
class Served:
    """One model on a server.

    Attributes:
        model: the server's name of it.
        kind: which program serves it.
        context_tokens: prompt and answer together; 0 if the server does not say.
        quantization: such as `Q4_K_M`; `unknown` if the server does not say.
        chat_format: as in `EngineInfo`.
        can_think: whether its template is known to have a thinking flag.
        places: answers that the server writes at once.
        adapters: the server's names of the model's LoRA adapters.
    """

    model: str
    kind: Kind
    context_tokens: int = 0
    quantization: str = "unknown"
    chat_format: str = "plain"
    can_think: bool = False
    places: int = _MANY
    adapters: tuple[str, ...] = ()

    @property
    def shown_name(self) -> str:
        """The model's name for people: of a file, not the folders in which it lies there."""
        if self.model.lower().endswith(".gguf"):
            return re.split(r"[/\\]", self.model)[-1][: -len(".gguf")] or self.model
        return self.model


def read_models(body: object, wanted: str, place: str, software: str = "") -> Served:
    """Choose a model from `/v1/models`.

    Args:
        body: what the server answered.
        wanted: the model's name; empty where there is only one.
        place: host and port.
        software: the answer's `Server` header.

    Raises:
        ConfigError: no such model, none at all, or several and none was named.
    """
    entries = [object_of(entry) for entry in list_of(object_of(body).get("data"))[:_MAX_MODELS]]
    named = {text_of(entry.get("id")): entry for entry in entries if text_of(entry.get("id"))}
    bases = [name for name, entry in named.items() if not text_of(entry.get("parent"))]
    if not named:
        msg = f"the server at {place} names no models"
        raise ConfigError(msg, "Check that url leads to an OpenAI-compatible server.")
    model = wanted or (bases[0] if len(bases) == 1 else "")
    if model not in named:
        msg = f"the server at {place} has {'no such model' if wanted else 'several models'}"
        raise ConfigError(msg, _choice(bases))
    entry = named[model]
    kind = _kind(entry, software)
    meta = object_of(entry.get("meta"))
    return Served(
        model=model,
        kind=kind,
        context_tokens=count_of(entry.get("max_model_len")) or count_of(meta.get("n_ctx")),
        quantization=_quantization(meta.get("ftype")) or "unknown",
        can_think=kind is Kind.VLLM,
        places=1 if kind is Kind.LLAMA_CPP_PYTHON else _MANY,
        adapters=tuple(
            name for name, other in named.items() if text_of(other.get("parent")) == model
        ),
    )


def read_props(served: Served, body: object) -> dict[str, object]:
    """What llama-server's `/props` adds, as fields of `Served`."""
    props = object_of(body)
    template = text_of(props.get("chat_template"))
    try:
        chat = choose(template)
        found: dict[str, object] = {"chat_format": chat.name, "can_think": chat.can_think}
    except HomingError:  # a template that we cannot compile: the server renders, not we
        found = {}
    slot = count_of(object_of(props.get("default_generation_settings")).get("n_ctx"))
    return found | {
        "context_tokens": slot or served.context_tokens,
        "quantization": _quantization(props.get("model_ftype")) or served.quantization,
        "places": max(1, count_of(props.get("total_slots")) or served.places),
    }


def read_ollama(served: Served, shown: object, running: object) -> dict[str, object]:
    """What Ollama's `/api/show` and `/api/ps` add, as fields of `Served`."""
    facts = object_of(shown)
    loaded = [
        count_of(object_of(entry).get("context_length"))
        for entry in list_of(object_of(running).get("models"))
        if text_of(object_of(entry).get("model")) == served.model
    ]
    set_to = [
        count_of(float(word[1]))
        for line in text_of(facts.get("parameters")).splitlines()
        if len(word := line.split()) == 2 and word[0] == "num_ctx" and word[1].isdecimal()  # noqa: PLR2004
    ]
    able = [text_of(word) for word in list_of(facts.get("capabilities"))]
    details = object_of(facts.get("details"))
    return {
        "context_tokens": next((count for count in (*loaded, *set_to) if count), 0),
        "quantization": _short(details.get("quantization_level")) or served.quantization,
        "can_think": "thinking" in able,
    }


def read_lm_studio(served: Served, body: object) -> dict[str, object]:
    """What LM Studio's `/api/v0/models` adds, as fields of `Served`."""
    for entry in map(object_of, list_of(object_of(body).get("data"))):
        if text_of(entry.get("id")) == served.model:
            loaded = count_of(entry.get("loaded_context_length"))
            return {
                "context_tokens": loaded or count_of(entry.get("max_context_length")),
                "quantization": _short(entry.get("quantization")) or served.quantization,
            }
    return {}


def _kind(entry: Mapping[str, object], software: str) -> Kind:
    owner = text_of(entry.get("owned_by")).lower()
    owners = {
        "llamacpp": Kind.LLAMA_SERVER,
        "vllm": Kind.VLLM,
        "library": Kind.OLLAMA,
        "organization_owner": Kind.LM_STUDIO,
    }
    if owner in owners:
        return owners[owner]
    if software.lower() == "llama.cpp":
        return Kind.LLAMA_SERVER
    if owner == "me" and "permissions" in entry:
        return Kind.LLAMA_CPP_PYTHON
    return Kind.OTHER


def _choice(names: Sequence[str]) -> str:
    listed = ", ".join(name[:_MAX_NAME] for name in names[:_MAX_LISTED])
    more = len(names) - _MAX_LISTED
    return f"Set model to one of: {_printable(listed)}" + (
        f" and {more} more." if more > 0 else "."
    )


def _quantization(value: object) -> str:
    """`Q4_K - Medium`, as llama.cpp says it to people, is `Q4_K_M`."""
    words = _short(value).removeprefix("all ").split(" - ")
    size = {"Small": "_S", "Medium": "_M", "Large": "_L"}.get(words[-1], "")
    return words[0] + size


def _short(value: object) -> str:
    return _printable(text_of(value))[:_MAX_NAME]


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)
