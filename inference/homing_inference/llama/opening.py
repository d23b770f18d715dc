"""Makes a scheduler of a loaded model and its settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from homing_inference.llama.beginnings import PINNED_PREFIXES, Beginnings
from homing_inference.llama.intake import Intake
from homing_inference.llama.pace import Pace
from homing_inference.llama.prompts import PromptWriter
from homing_inference.llama.run import RunMaker
from homing_inference.llama.scheduler import DEFAULT_WAITING, Scheduler
from homing_inference.llama.sequences import Sequences
from homing_inference.llama.settings import EngineSettings
from homing_inference.llama.thread_share import ThreadShare

if TYPE_CHECKING:
    from homing_inference.formats.base import ChatFormat
    from homing_inference.llama.model import LoadedModel

DEFAULT_CONTEXT: Final = 8192
"""Tokens, where nobody says more."""
DEFAULT_SEQUENCES: Final = 8
"""Answers that are written at once, where nobody says otherwise."""
DEFAULT_CHECKPOINT_BYTES: Final = 256 << 20
"""Main memory for checkpoints, where nobody says otherwise."""
_SHORTEST_CONTEXT: Final = 256
_FULL_CONTEXTS: Final = 4
_FOR_SCORING: Final = 1
"""Sequences beyond those of answers and pins, so that scoring can always look at one branch."""


def open_scheduler(
    model: LoadedModel, chat: ChatFormat, settings: EngineSettings | None = None
) -> Scheduler:
    """Reserve everything that a model needs to serve.

    Args:
        model: closed by the scheduler's `close`, and here if this fails.
        chat: the model's chat format.
        settings: None lets the engine choose everything.

    Raises:
        OverloadedError: there is not enough memory for the context.
        HomingError: an adapter cannot be used.
    """
    try:
        return _open(model, chat, settings or EngineSettings())
    except BaseException:
        model.close()
        raise


def _open(model: LoadedModel, chat: ChatFormat, settings: EngineSettings) -> Scheduler:
    trained = model.facts.trained_context or DEFAULT_CONTEXT
    wanted = settings.context_tokens or DEFAULT_CONTEXT
    context_tokens = max(_SHORTEST_CONTEXT, min(wanted, trained))
    max_sequences = settings.max_sequences or DEFAULT_SEQUENCES
    cells = settings.cache_tokens or min(_FULL_CONTEXTS, max_sequences) * context_tokens
    threads = ThreadShare(settings.threads)
    sequences = Sequences(
        model,
        context_tokens=context_tokens,
        cells=max(cells, context_tokens),
        sequences=max_sequences + PINNED_PREFIXES + _FOR_SCORING,
        threads=threads.now(),
        adapters=dict(settings.adapters),
    )
    states = Beginnings(
        sequences,
        can_rewind=model.facts.can_rewind,
        checkpoint_bytes=settings.checkpoint_bytes or DEFAULT_CHECKPOINT_BYTES,
    )
    controls = model.vocabulary.control_texts(model.facts.template)
    intake = Intake(
        PromptWriter(chat, model.vocabulary, controls),
        RunMaker(chat, model.vocabulary),
        context_tokens=context_tokens,
        max_sequences=max_sequences,
        cells=sequences.cells,
    )
    return Scheduler(
        intake,
        sequences,
        states,
        Pace(sequences.batch_tokens),
        threads=threads,
        max_waiting=settings.max_waiting or DEFAULT_WAITING,
        on_close=model.close,
    )
