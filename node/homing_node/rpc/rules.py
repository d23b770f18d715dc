"""What each method of the main port needs of its caller. A method that is not here is closed."""

from __future__ import annotations

from typing import Final

from homing_core.access import AccessRule, DeviceRole, Scope

_ANY_PAIRED: Final = AccessRule()
_INFERENCE: Final = AccessRule(Scope.INFERENCE)
_OWNER: Final = AccessRule(Scope.DEVICES, frozenset({DeviceRole.OWNER}))
_OWNERS_EYES: Final = AccessRule(roles=frozenset({DeviceRole.OWNER}))
_HOME: Final = AccessRule(Scope.INTRODUCE, frozenset({DeviceRole.PEER}))
_JOBS: Final = AccessRule(Scope.JOBS)
_ANSWERS: Final = AccessRule(Scope.JOBS, without_scope=frozenset({DeviceRole.OWNER}))
_PHONE: Final = AccessRule(
    Scope.INFERENCE, frozenset({DeviceRole.OWNER, DeviceRole.MEMBER, DeviceRole.GUEST})
)

JOBS_RULES: Final[dict[str, AccessRule]] = {
    "/homing_proto.v1.JobsService/SubmitJob": _JOBS,
    "/homing_proto.v1.JobsService/GetJob": _JOBS,
    "/homing_proto.v1.JobsService/ListJobs": _JOBS,
    "/homing_proto.v1.JobsService/WatchJob": _JOBS,
    "/homing_proto.v1.JobsService/CancelJob": _JOBS,
    # An owner is asked about others' jobs too. Who may answer what, homing_node.jobs.rules says.
    "/homing_proto.v1.JobsService/ListPendingApprovals": _ANSWERS,
    "/homing_proto.v1.JobsService/AnswerApproval": _ANSWERS,
    "/homing_proto.v1.JobsService/DownloadResult": _JOBS,
    "/homing_proto.v1.JobsService/SettleJob": _JOBS,
    "/homing_proto.v1.JobsService/AckResult": _JOBS,
}
"""Those of them that are about jobs."""
MAIN_RULES: Final[dict[str, AccessRule]] = {
    "/homing_proto.v1.NodeService/GetNode": _ANY_PAIRED,
    "/homing_proto.v1.InferenceService/Generate": _INFERENCE,
    "/homing_proto.v1.InferenceService/Resume": _INFERENCE,
    "/homing_proto.v1.InferenceService/Ack": _INFERENCE,
    "/homing_proto.v1.InferenceService/Cancel": _INFERENCE,
    "/homing_proto.v1.ToolsService/ListTools": AccessRule(Scope.TOOLS),
    **JOBS_RULES,
    "/homing_proto.v1.DevicesService/ListDevices": _OWNER,
    # Any device may leave; whoever else it names is looked at by homing_node.devices.remote.
    "/homing_proto.v1.DevicesService/RevokeDevice": _ANY_PAIRED,
    "/homing_proto.v1.DevicesService/GrantDevice": _OWNER,
    "/homing_proto.v1.AuditService/GetHead": _OWNERS_EYES,
    "/homing_proto.v1.AuditService/ListEntries": _OWNERS_EYES,
    # Each device's own keys; whom a key may name is looked at by homing_crypto.rotation_rules.
    "/homing_proto.v1.KeysService/RotateKey": _ANY_PAIRED,
    "/homing_proto.v1.KeysService/FinishRotation": _ANY_PAIRED,
    "/homing_proto.v1.KeysService/GetSuccessor": _ANY_PAIRED,
    "/homing_proto.v1.PeersService/PushIntroductions": _HOME,
    "/homing_proto.v1.PeersService/WithdrawIntroductions": _HOME,
    "/homing_proto.v1.PeersService/ListPeers": _PHONE,
    "/grpc.health.v1.Health/Check": _ANY_PAIRED,
    "/grpc.health.v1.Health/Watch": _ANY_PAIRED,
    "/grpc.health.v1.Health/List": _ANY_PAIRED,
}
"""By full method name. `tests/node` checks that it names exactly the methods that are served."""
