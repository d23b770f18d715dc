"""What a daemon and its engine's child process say to each other, as values and as bytes.

The child's first command is `LoadModel`. Unlike the other codecs these go from and to bytes, since
nothing else travels in a frame.
"""

from homing_proto.codec.engine_commands import decode_engine_command, encode_engine_command
from homing_proto.codec.engine_reports import decode_engine_report, encode_engine_report
from homing_proto.codec.engine_values import (
    CancelGeneration,
    EmbedFailed,
    EmbedTexts,
    EngineBusy,
    EngineCommand,
    EngineReport,
    ForgetOwner,
    GenerationReport,
    LoadFailed,
    LoadModel,
    ModelLoading,
    ModelReady,
    PrefixWarmed,
    ScoreFailed,
    ScoreTools,
    StartGeneration,
    TextsEmbedded,
    ToolsScored,
    WarmFailed,
    WarmPrefix,
)

__all__ = [
    "CancelGeneration",
    "EmbedFailed",
    "EmbedTexts",
    "EngineBusy",
    "EngineCommand",
    "EngineReport",
    "ForgetOwner",
    "GenerationReport",
    "LoadFailed",
    "LoadModel",
    "ModelLoading",
    "ModelReady",
    "PrefixWarmed",
    "ScoreFailed",
    "ScoreTools",
    "StartGeneration",
    "TextsEmbedded",
    "ToolsScored",
    "WarmFailed",
    "WarmPrefix",
    "decode_engine_command",
    "decode_engine_report",
    "encode_engine_command",
    "encode_engine_report",
]
