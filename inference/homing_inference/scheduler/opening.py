"""Makes a scheduler of a loaded model and its settings."""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING

from homing_inference.answers.prompts import PromptWriter
from homing_inference.answers.run import FreeGuard, RunMaker
from homing_inference.grammar import GrammarEngine, guard_for
from homing_inference.llama.embedding import Embedder
from homing_inference.llama.sequences import Sequences
from homing_inference.machine.resident_memory import give_back_unused
from homing_inference.machine.sizes import engine_sizes
from homing_inference.machine.thread_share import ThreadShare
from homing_inference.scheduler.intake import Intake
from homing_inference.scheduler.pace import Pace
from homing_inference.scheduler.scheduler import Scheduler
from homing_inference.scheduler.score_intake import ScoreIntake
from homing_inference.scheduler.settings import DEFAULT_WAITING, EngineSettings
from homing_inference.scoring.names import NameTries
from homing_inference.scoring.score_plan import ScorePlanner
from homing_inference.scoring.token_texts import TokenTexts
from homing_inference.states.beginnings import Beginnings
from homing_inference.states.prefix_files import DEFAULT_STATE_BYTES, PrefixFiles

if TYPE_CHECKING:
    from homing_core.generation import GenerateRequest

    from homing_inference.answers.prompts import TokenizedPrompt
    from homing_inference.answers.run import TokenGuard
    from homing_inference.formats.base import ChatFormat
    from homing_inference.llama.model import LoadedModel


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
    sizes = engine_sizes(
        context_tokens=settings.context_tokens,
        max_sequences=settings.max_sequences,
        cache_tokens=settings.cache_tokens,
        checkpoint_bytes=settings.checkpoint_bytes,
        trained_context=model.facts.trained_context,
    )
    threads = ThreadShare(settings.threads, cores=settings.cores)
    sequences = Sequences(
        model,
        context_tokens=sizes.context_tokens,
        cells=sizes.cells,
        sequences=sizes.sequences,
        threads=threads.now(),
        adapters=dict(settings.adapters),
    )
    states = Beginnings(
        sequences,
        can_rewind=model.facts.can_rewind,
        checkpoint_bytes=sizes.checkpoint_bytes,
        store=_store(settings, sequences),
    )
    tries = functools.cache(lambda: NameTries(TokenTexts(model.vocabulary)))
    embedder = functools.cache(lambda: Embedder(model, threads.now()))
    grammars = GrammarEngine(model.vocabulary)
    # It takes about a second, for which the first request with tools would otherwise wait.
    preparing = threading.Thread(target=_prepare, args=(grammars,), name="grammars", daemon=True)
    preparing.start()

    def guard(request: GenerateRequest, prompt: TokenizedPrompt) -> TokenGuard:
        found = guard_for(
            request,
            chat,
            grammars,
            starts_in_thinking=prompt.starts_in_thinking,
            continues_text=prompt.continues_text,
        )
        return found or FreeGuard()

    controls = model.vocabulary.control_texts(model.facts.template)
    writer = PromptWriter(chat, model.vocabulary, controls)
    planner = functools.cache(lambda: ScorePlanner(chat, model.vocabulary, tries()))
    intake = Intake(
        writer,
        RunMaker(chat, model.vocabulary, guard, tries),
        ScoreIntake(writer, planner, sizes.context_tokens),
        context_tokens=sizes.context_tokens,
        max_sequences=sizes.max_sequences,
        cells=sequences.cells,
        embed=lambda text: embedder().embed([text])[0],
    )

    def close() -> None:
        preparing.join()  # it reads the model's vocabulary
        if embedder.cache_info().currsize:
            embedder().close()
        model.close()

    return Scheduler(
        intake,
        sequences,
        states,
        Pace(sequences.batch_tokens),
        threads=threads,
        keep_answers=model.facts.can_rewind,
        max_waiting=settings.max_waiting or DEFAULT_WAITING,
        on_close=close,
    )


def _prepare(grammars: GrammarEngine) -> None:
    grammars.prepare()
    give_back_unused()  # of loading the model, too


def _store(settings: EngineSettings, sequences: Sequences) -> PrefixFiles | None:
    if settings.state_folder is None or not settings.file_sha256:
        return None
    return PrefixFiles(
        settings.state_folder,
        max_bytes=settings.state_bytes or DEFAULT_STATE_BYTES,
        model_sha256=settings.file_sha256,
        fingerprint=sequences.fingerprint,
        adapters=sequences.adapter_digests(),
    )
