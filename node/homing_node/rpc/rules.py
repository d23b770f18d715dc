"""What each method of the main port needs of its caller. A method that is not here is closed."""

from __future__ import annotations

from typing import Final

from homing_core.access import AccessRule, Scope

_ANY_PAIRED: Final = AccessRule()
_INFERENCE: Final = AccessRule(Scope.INFERENCE)

MAIN_RULES: Final[dict[str, AccessRule]] = {
    "/homing_proto.v1.NodeService/GetNode": _ANY_PAIRED,
    "/homing_proto.v1.InferenceService/Generate": _INFERENCE,
    "/homing_proto.v1.InferenceService/Resume": _INFERENCE,
    "/homing_proto.v1.InferenceService/Ack": _INFERENCE,
    "/homing_proto.v1.InferenceService/Cancel": _INFERENCE,
    "/homing_proto.v1.ToolsService/ListTools": AccessRule(Scope.TOOLS),
    "/grpc.health.v1.Health/Check": _ANY_PAIRED,
    "/grpc.health.v1.Health/Watch": _ANY_PAIRED,
    "/grpc.health.v1.Health/List": _ANY_PAIRED,
}
"""By full method name. `tests/node` checks that it names exactly the methods that are served."""
