"""What a daemon and its engine's child process say to each other, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from homing_core.generation import Failed, GenerateRequest, GenerationEvent, Thinking
    from homing_core.ids import GenerationId
    from homing_core.messages import Message
    from homing_core.scoring import ScoreRequest, ToolScores
    from homing_core.tools import ToolSpec


@dataclass(frozen=True, slots=True)
class LoadModel:
    """Load this file; the first command.

    Attributes:
        path: of the GGUF file.
        name: under which it is served.
        context_tokens: prompt and answer together; 0 lets the engine choose.
        threads: 0 lets the engine choose.
        gpu_layers: layers on an accelerator; -1 for all of them.
        max_sequences: answers written at once; 0 lets the engine choose.
        cache_tokens: that all sequences hold together; 0 lets the engine choose.
        file_sha256: of the model's file, hex; empty keeps nothing on disk.
        state_folder: for the states of warm prefixes; empty keeps nothing on disk.
        state_bytes: that the folder may take.
        checkpoint_bytes: of main memory for the states of conversations.
        max_waiting: requests that may wait; more are refused. 0 lets the engine choose.
        adapters: names and paths of LoRA adapters.
        cores: to share with the other engines of the machine; 0 is what suits the machine.
    """

    path: str
    name: str
    context_tokens: int = 0
    threads: int = 0
    gpu_layers: int = 0
    max_sequences: int = 0
    cache_tokens: int = 0
    file_sha256: str = ""
    state_folder: str = ""
    state_bytes: int = 0
    checkpoint_bytes: int = 0
    max_waiting: int = 0
    adapters: tuple[tuple[str, str], ...] = ()
    cores: int = 0


@dataclass(frozen=True, slots=True)
class StartGeneration:
    """Write. The request's owner goes along, as the child has no other way to know it."""

    request: GenerateRequest


@dataclass(frozen=True, slots=True)
class CancelGeneration:
    """End a generation; harmless if it has ended."""

    id: GenerationId


@dataclass(frozen=True, slots=True)
class WarmPrefix:
    """Compute and pin a prefix.

    Attributes:
        ticket: number that the answer carries.
        messages: the system messages.
        tools: the tools.
        thinking: on or off.
    """

    ticket: int
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    thinking: Thinking


@dataclass(frozen=True, slots=True)
class ScoreTools:
    """Score tools.

    Attributes:
        ticket: number that the answer carries.
        request: what to score; its model is not sent, since the child has only one.
    """

    ticket: int
    request: ScoreRequest


@dataclass(frozen=True, slots=True)
class EmbedTexts:
    """Turn texts into vectors.

    Attributes:
        ticket: number that the answer carries.
        texts: the texts.
    """

    ticket: int
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ForgetOwner:
    """Drop the states of conversations that this owner left.

    Attributes:
        owner: as in `GenerateRequest.owner`.
    """

    owner: str


EngineCommand: TypeAlias = (
    LoadModel
    | StartGeneration
    | CancelGeneration
    | WarmPrefix
    | ScoreTools
    | EmbedTexts
    | ForgetOwner
)


@dataclass(frozen=True, slots=True)
class ModelLoading:
    """How far loading is, in [0, 1]."""

    progress: float


@dataclass(frozen=True, slots=True)
class ModelReady:
    """What was loaded; the fields are those of the engine's description."""

    quantization: str
    context_tokens: int
    chat_format: str
    can_think: bool
    architecture: str
    max_sequences: int = 1


@dataclass(frozen=True, slots=True)
class LoadFailed:
    """The model could not be loaded; the child leaves."""

    error: Failed


@dataclass(frozen=True, slots=True)
class GenerationReport:
    """An event of one generation."""

    id: GenerationId
    event: GenerationEvent


@dataclass(frozen=True, slots=True)
class PrefixWarmed:
    """A prefix is pinned.

    Attributes:
        ticket: the command's number.
        tokens: its length.
        sha256: of the rendered text, hex.
    """

    ticket: int
    tokens: int
    sha256: str


@dataclass(frozen=True, slots=True)
class WarmFailed:
    """A prefix could not be pinned."""

    ticket: int
    error: Failed


@dataclass(frozen=True, slots=True)
class ToolsScored:
    """Tools are scored."""

    ticket: int
    scores: ToolScores


@dataclass(frozen=True, slots=True)
class ScoreFailed:
    """Tools could not be scored."""

    ticket: int
    error: Failed


@dataclass(frozen=True, slots=True)
class TextsEmbedded:
    """Texts are vectors, in the order of the texts; numbers are single-precision ones."""

    ticket: int
    vectors: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class EmbedFailed:
    """Texts could not be turned into vectors."""

    ticket: int
    error: Failed


@dataclass(frozen=True, slots=True)
class EngineBusy:
    """How busy the engine is; the fields are those of the engine's state.

    Attributes:
        running: answers being written.
        waiting: requests that wait.
        decode_tokens_per_second: recent speed of one answer; 0 if unknown.
        prefill_tokens_per_second: recent speed of a prompt; 0 if unknown.
        memory_bytes: main memory that the process takes; 0 if unknown.
        warm: length and SHA-256 (hex) of each pinned prefix.
    """

    running: int = 0
    waiting: int = 0
    decode_tokens_per_second: float = 0.0
    prefill_tokens_per_second: float = 0.0
    memory_bytes: int = 0
    warm: tuple[tuple[int, str], ...] = ()


EngineReport: TypeAlias = (
    ModelLoading
    | ModelReady
    | LoadFailed
    | GenerationReport
    | PrefixWarmed
    | WarmFailed
    | ToolsScored
    | ScoreFailed
    | TextsEmbedded
    | EmbedFailed
    | EngineBusy
)
