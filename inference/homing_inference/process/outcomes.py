"""What a child's reports mean to those who asked. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from homing_proto.codec.engine import (
    EmbedFailed,
    EngineBusy,
    PrefixWarmed,
    ScoreFailed,
    TextsEmbedded,
    ToolsScored,
    WarmFailed,
)

from homing_inference.engine import EngineState, WarmedPrefix

if TYPE_CHECKING:
    from homing_core.errors import HomingError
    from homing_core.scoring import ToolScores

Outcome: TypeAlias = "WarmedPrefix | ToolScores | TextsEmbedded"
"""What comes of a ticket that ends well."""
TicketReport: TypeAlias = (
    PrefixWarmed | WarmFailed | ToolsScored | ScoreFailed | TextsEmbedded | EmbedFailed
)
"""The end of a ticket."""


def outcome_of(report: TicketReport) -> Outcome | HomingError:
    """What came of a ticket."""
    match report:
        case PrefixWarmed():
            return WarmedPrefix(report.tokens, report.sha256)
        case ToolsScored():
            return report.scores
        case TextsEmbedded():
            return report
        case WarmFailed() | ScoreFailed() | EmbedFailed():
            return report.error.to_error()


def state_of(report: EngineBusy) -> EngineState:
    """How busy the engine is."""
    return EngineState(
        running=report.running,
        waiting=report.waiting,
        decode_tokens_per_second=report.decode_tokens_per_second,
        prefill_tokens_per_second=report.prefill_tokens_per_second,
        memory_bytes=report.memory_bytes,
        warm=tuple(WarmedPrefix(tokens, sha256) for tokens, sha256 in report.warm),
    )
