from homing_proto.v1 import common_pb2 as _common_pb2
from homing_proto.v1 import tool_pb2 as _tool_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class JobState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    JOB_STATE_UNSPECIFIED: _ClassVar[JobState]
    JOB_STATE_QUEUED: _ClassVar[JobState]
    JOB_STATE_RUNNING: _ClassVar[JobState]
    JOB_STATE_WAITING_APPROVAL: _ClassVar[JobState]
    JOB_STATE_UNKNOWN_EFFECT: _ClassVar[JobState]
    JOB_STATE_SUCCEEDED: _ClassVar[JobState]
    JOB_STATE_FAILED: _ClassVar[JobState]
    JOB_STATE_CANCELLED: _ClassVar[JobState]

class Settlement(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SETTLEMENT_UNSPECIFIED: _ClassVar[Settlement]
    SETTLEMENT_HAPPENED: _ClassVar[Settlement]
    SETTLEMENT_RUN_AGAIN: _ClassVar[Settlement]
    SETTLEMENT_GIVE_UP: _ClassVar[Settlement]
JOB_STATE_UNSPECIFIED: JobState
JOB_STATE_QUEUED: JobState
JOB_STATE_RUNNING: JobState
JOB_STATE_WAITING_APPROVAL: JobState
JOB_STATE_UNKNOWN_EFFECT: JobState
JOB_STATE_SUCCEEDED: JobState
JOB_STATE_FAILED: JobState
JOB_STATE_CANCELLED: JobState
SETTLEMENT_UNSPECIFIED: Settlement
SETTLEMENT_HAPPENED: Settlement
SETTLEMENT_RUN_AGAIN: Settlement
SETTLEMENT_GIVE_UP: Settlement

class JobSpec(_message.Message):
    __slots__ = ("id", "request_id", "tool", "call", "sensitivity", "priority")
    ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    CALL_FIELD_NUMBER: _ClassVar[int]
    SENSITIVITY_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    id: str
    request_id: str
    tool: _tool_pb2.ToolId
    call: _tool_pb2.ToolCall
    sensitivity: _common_pb2.Sensitivity
    priority: int
    def __init__(self, id: _Optional[str] = ..., request_id: _Optional[str] = ..., tool: _Optional[_Union[_tool_pb2.ToolId, _Mapping]] = ..., call: _Optional[_Union[_tool_pb2.ToolCall, _Mapping]] = ..., sensitivity: _Optional[_Union[_common_pb2.Sensitivity, str]] = ..., priority: _Optional[int] = ...) -> None: ...

class JobProgress(_message.Message):
    __slots__ = ("done", "total", "unit", "note")
    DONE_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    done: float
    total: float
    unit: str
    note: str
    def __init__(self, done: _Optional[float] = ..., total: _Optional[float] = ..., unit: _Optional[str] = ..., note: _Optional[str] = ...) -> None: ...

class JobEvent(_message.Message):
    __slots__ = ("seq", "at", "state", "progress", "approval_id", "note")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    APPROVAL_ID_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    seq: int
    at: float
    state: JobState
    progress: JobProgress
    approval_id: str
    note: str
    def __init__(self, seq: _Optional[int] = ..., at: _Optional[float] = ..., state: _Optional[_Union[JobState, str]] = ..., progress: _Optional[_Union[JobProgress, _Mapping]] = ..., approval_id: _Optional[str] = ..., note: _Optional[str] = ...) -> None: ...

class JobStatus(_message.Message):
    __slots__ = ("id", "tool_name", "state", "submitted_at", "last_seq", "progress", "summary", "detail_json", "result_bytes", "sealed_by", "sealer_certificate")
    ID_FIELD_NUMBER: _ClassVar[int]
    TOOL_NAME_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    SUBMITTED_AT_FIELD_NUMBER: _ClassVar[int]
    LAST_SEQ_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    DETAIL_JSON_FIELD_NUMBER: _ClassVar[int]
    RESULT_BYTES_FIELD_NUMBER: _ClassVar[int]
    SEALED_BY_FIELD_NUMBER: _ClassVar[int]
    SEALER_CERTIFICATE_FIELD_NUMBER: _ClassVar[int]
    id: str
    tool_name: str
    state: JobState
    submitted_at: float
    last_seq: int
    progress: JobProgress
    summary: str
    detail_json: str
    result_bytes: int
    sealed_by: str
    sealer_certificate: bytes
    def __init__(self, id: _Optional[str] = ..., tool_name: _Optional[str] = ..., state: _Optional[_Union[JobState, str]] = ..., submitted_at: _Optional[float] = ..., last_seq: _Optional[int] = ..., progress: _Optional[_Union[JobProgress, _Mapping]] = ..., summary: _Optional[str] = ..., detail_json: _Optional[str] = ..., result_bytes: _Optional[int] = ..., sealed_by: _Optional[str] = ..., sealer_certificate: _Optional[bytes] = ...) -> None: ...

class SubmitJobRequest(_message.Message):
    __slots__ = ("job", "approval")
    JOB_FIELD_NUMBER: _ClassVar[int]
    APPROVAL_FIELD_NUMBER: _ClassVar[int]
    job: JobSpec
    approval: _tool_pb2.SignedApproval
    def __init__(self, job: _Optional[_Union[JobSpec, _Mapping]] = ..., approval: _Optional[_Union[_tool_pb2.SignedApproval, _Mapping]] = ...) -> None: ...

class SubmitJobResponse(_message.Message):
    __slots__ = ("status",)
    STATUS_FIELD_NUMBER: _ClassVar[int]
    status: JobStatus
    def __init__(self, status: _Optional[_Union[JobStatus, _Mapping]] = ...) -> None: ...

class GetJobRequest(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    def __init__(self, id: _Optional[str] = ...) -> None: ...

class GetJobResponse(_message.Message):
    __slots__ = ("status",)
    STATUS_FIELD_NUMBER: _ClassVar[int]
    status: JobStatus
    def __init__(self, status: _Optional[_Union[JobStatus, _Mapping]] = ...) -> None: ...

class ListJobsRequest(_message.Message):
    __slots__ = ("limit", "before_id")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    BEFORE_ID_FIELD_NUMBER: _ClassVar[int]
    limit: int
    before_id: str
    def __init__(self, limit: _Optional[int] = ..., before_id: _Optional[str] = ...) -> None: ...

class ListJobsResponse(_message.Message):
    __slots__ = ("jobs",)
    JOBS_FIELD_NUMBER: _ClassVar[int]
    jobs: _containers.RepeatedCompositeFieldContainer[JobStatus]
    def __init__(self, jobs: _Optional[_Iterable[_Union[JobStatus, _Mapping]]] = ...) -> None: ...

class WatchJobRequest(_message.Message):
    __slots__ = ("id", "after_seq")
    ID_FIELD_NUMBER: _ClassVar[int]
    AFTER_SEQ_FIELD_NUMBER: _ClassVar[int]
    id: str
    after_seq: int
    def __init__(self, id: _Optional[str] = ..., after_seq: _Optional[int] = ...) -> None: ...

class WatchJobResponse(_message.Message):
    __slots__ = ("event",)
    EVENT_FIELD_NUMBER: _ClassVar[int]
    event: JobEvent
    def __init__(self, event: _Optional[_Union[JobEvent, _Mapping]] = ...) -> None: ...

class CancelJobRequest(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    def __init__(self, id: _Optional[str] = ...) -> None: ...

class CancelJobResponse(_message.Message):
    __slots__ = ("status",)
    STATUS_FIELD_NUMBER: _ClassVar[int]
    status: JobStatus
    def __init__(self, status: _Optional[_Union[JobStatus, _Mapping]] = ...) -> None: ...

class ListPendingApprovalsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class PendingApproval(_message.Message):
    __slots__ = ("id", "job_id", "request_id", "step", "tool", "call", "expires_at", "reason", "preview", "device", "device_name")
    ID_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    CALL_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    PREVIEW_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    DEVICE_NAME_FIELD_NUMBER: _ClassVar[int]
    id: str
    job_id: str
    request_id: str
    step: int
    tool: _tool_pb2.ToolSpec
    call: _tool_pb2.ToolCall
    expires_at: int
    reason: str
    preview: str
    device: str
    device_name: str
    def __init__(self, id: _Optional[str] = ..., job_id: _Optional[str] = ..., request_id: _Optional[str] = ..., step: _Optional[int] = ..., tool: _Optional[_Union[_tool_pb2.ToolSpec, _Mapping]] = ..., call: _Optional[_Union[_tool_pb2.ToolCall, _Mapping]] = ..., expires_at: _Optional[int] = ..., reason: _Optional[str] = ..., preview: _Optional[str] = ..., device: _Optional[str] = ..., device_name: _Optional[str] = ...) -> None: ...

class ListPendingApprovalsResponse(_message.Message):
    __slots__ = ("approvals",)
    APPROVALS_FIELD_NUMBER: _ClassVar[int]
    approvals: _containers.RepeatedCompositeFieldContainer[PendingApproval]
    def __init__(self, approvals: _Optional[_Iterable[_Union[PendingApproval, _Mapping]]] = ...) -> None: ...

class AnswerApprovalRequest(_message.Message):
    __slots__ = ("approval",)
    APPROVAL_FIELD_NUMBER: _ClassVar[int]
    approval: _tool_pb2.SignedApproval
    def __init__(self, approval: _Optional[_Union[_tool_pb2.SignedApproval, _Mapping]] = ...) -> None: ...

class AnswerApprovalResponse(_message.Message):
    __slots__ = ("status",)
    STATUS_FIELD_NUMBER: _ClassVar[int]
    status: JobStatus
    def __init__(self, status: _Optional[_Union[JobStatus, _Mapping]] = ...) -> None: ...

class DownloadResultRequest(_message.Message):
    __slots__ = ("id", "offset_bytes")
    ID_FIELD_NUMBER: _ClassVar[int]
    OFFSET_BYTES_FIELD_NUMBER: _ClassVar[int]
    id: str
    offset_bytes: int
    def __init__(self, id: _Optional[str] = ..., offset_bytes: _Optional[int] = ...) -> None: ...

class DownloadResultResponse(_message.Message):
    __slots__ = ("offset_bytes", "data", "total_bytes")
    OFFSET_BYTES_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    offset_bytes: int
    data: bytes
    total_bytes: int
    def __init__(self, offset_bytes: _Optional[int] = ..., data: _Optional[bytes] = ..., total_bytes: _Optional[int] = ...) -> None: ...

class AckResultRequest(_message.Message):
    __slots__ = ("id", "sha256")
    ID_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    id: str
    sha256: str
    def __init__(self, id: _Optional[str] = ..., sha256: _Optional[str] = ...) -> None: ...

class AckResultResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SettleJobRequest(_message.Message):
    __slots__ = ("id", "settlement")
    ID_FIELD_NUMBER: _ClassVar[int]
    SETTLEMENT_FIELD_NUMBER: _ClassVar[int]
    id: str
    settlement: Settlement
    def __init__(self, id: _Optional[str] = ..., settlement: _Optional[_Union[Settlement, str]] = ...) -> None: ...

class SettleJobResponse(_message.Message):
    __slots__ = ("status",)
    STATUS_FIELD_NUMBER: _ClassVar[int]
    status: JobStatus
    def __init__(self, status: _Optional[_Union[JobStatus, _Mapping]] = ...) -> None: ...
