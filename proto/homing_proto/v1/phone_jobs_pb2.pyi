from homing_proto.v1 import common_pb2 as _common_pb2
from homing_proto.v1 import job_pb2 as _job_pb2
from homing_proto.v1 import tool_pb2 as _tool_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PhoneJob(_message.Message):
    __slots__ = ("id", "request_id", "node", "node_name", "place", "tool", "arguments_json", "submitted", "state", "last_seq", "progress", "asked_at", "ended_at", "delivered", "note", "error")
    ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    NODE_NAME_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_JSON_FIELD_NUMBER: _ClassVar[int]
    SUBMITTED_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    LAST_SEQ_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    ASKED_AT_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_FIELD_NUMBER: _ClassVar[int]
    DELIVERED_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    id: str
    request_id: str
    node: str
    node_name: str
    place: _common_pb2.Place
    tool: _tool_pb2.ToolSpec
    arguments_json: str
    submitted: bool
    state: _job_pb2.JobState
    last_seq: int
    progress: _job_pb2.JobProgress
    asked_at: float
    ended_at: float
    delivered: bool
    note: str
    error: _common_pb2.Error
    def __init__(self, id: _Optional[str] = ..., request_id: _Optional[str] = ..., node: _Optional[str] = ..., node_name: _Optional[str] = ..., place: _Optional[_Union[_common_pb2.Place, str]] = ..., tool: _Optional[_Union[_tool_pb2.ToolSpec, _Mapping]] = ..., arguments_json: _Optional[str] = ..., submitted: _Optional[bool] = ..., state: _Optional[_Union[_job_pb2.JobState, str]] = ..., last_seq: _Optional[int] = ..., progress: _Optional[_Union[_job_pb2.JobProgress, _Mapping]] = ..., asked_at: _Optional[float] = ..., ended_at: _Optional[float] = ..., delivered: _Optional[bool] = ..., note: _Optional[str] = ..., error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ...) -> None: ...

class StartPhoneJobRequest(_message.Message):
    __slots__ = ("tool", "arguments_json", "node", "sensitivity", "request_id", "allowed", "schema_hash")
    TOOL_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_JSON_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    SENSITIVITY_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    ALLOWED_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_HASH_FIELD_NUMBER: _ClassVar[int]
    tool: str
    arguments_json: str
    node: str
    sensitivity: _common_pb2.Sensitivity
    request_id: str
    allowed: bool
    schema_hash: str
    def __init__(self, tool: _Optional[str] = ..., arguments_json: _Optional[str] = ..., node: _Optional[str] = ..., sensitivity: _Optional[_Union[_common_pb2.Sensitivity, str]] = ..., request_id: _Optional[str] = ..., allowed: _Optional[bool] = ..., schema_hash: _Optional[str] = ...) -> None: ...

class StartPhoneJobResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: PhoneJob
    def __init__(self, job: _Optional[_Union[PhoneJob, _Mapping]] = ...) -> None: ...

class ListPhoneJobsRequest(_message.Message):
    __slots__ = ("refresh",)
    REFRESH_FIELD_NUMBER: _ClassVar[int]
    refresh: bool
    def __init__(self, refresh: _Optional[bool] = ...) -> None: ...

class ListPhoneJobsResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: PhoneJob
    def __init__(self, job: _Optional[_Union[PhoneJob, _Mapping]] = ...) -> None: ...

class ListHomeToolsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListHomeToolsResponse(_message.Message):
    __slots__ = ("tool", "node_name", "node", "error")
    TOOL_FIELD_NUMBER: _ClassVar[int]
    NODE_NAME_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    tool: _tool_pb2.ToolSpec
    node_name: str
    node: str
    error: _common_pb2.Error
    def __init__(self, tool: _Optional[_Union[_tool_pb2.ToolSpec, _Mapping]] = ..., node_name: _Optional[str] = ..., node: _Optional[str] = ..., error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ...) -> None: ...

class WatchPhoneJobRequest(_message.Message):
    __slots__ = ("job", "after_seq")
    JOB_FIELD_NUMBER: _ClassVar[int]
    AFTER_SEQ_FIELD_NUMBER: _ClassVar[int]
    job: str
    after_seq: int
    def __init__(self, job: _Optional[str] = ..., after_seq: _Optional[int] = ...) -> None: ...

class WatchPhoneJobResponse(_message.Message):
    __slots__ = ("event",)
    EVENT_FIELD_NUMBER: _ClassVar[int]
    event: _job_pb2.JobEvent
    def __init__(self, event: _Optional[_Union[_job_pb2.JobEvent, _Mapping]] = ...) -> None: ...

class CancelPhoneJobRequest(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: str
    def __init__(self, job: _Optional[str] = ...) -> None: ...

class CancelPhoneJobResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: PhoneJob
    def __init__(self, job: _Optional[_Union[PhoneJob, _Mapping]] = ...) -> None: ...

class FetchPhoneJobResultRequest(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: str
    def __init__(self, job: _Optional[str] = ...) -> None: ...

class PhoneJobResult(_message.Message):
    __slots__ = ("job_id", "is_error", "trust", "sensitivity", "source", "files")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    IS_ERROR_FIELD_NUMBER: _ClassVar[int]
    TRUST_FIELD_NUMBER: _ClassVar[int]
    SENSITIVITY_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    is_error: bool
    trust: _common_pb2.Trust
    sensitivity: _common_pb2.Sensitivity
    source: str
    files: _containers.RepeatedCompositeFieldContainer[PhoneJobFile]
    def __init__(self, job_id: _Optional[str] = ..., is_error: _Optional[bool] = ..., trust: _Optional[_Union[_common_pb2.Trust, str]] = ..., sensitivity: _Optional[_Union[_common_pb2.Sensitivity, str]] = ..., source: _Optional[str] = ..., files: _Optional[_Iterable[_Union[PhoneJobFile, _Mapping]]] = ...) -> None: ...

class PhoneJobFile(_message.Message):
    __slots__ = ("name", "media_type", "size_bytes")
    NAME_FIELD_NUMBER: _ClassVar[int]
    MEDIA_TYPE_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    name: str
    media_type: str
    size_bytes: int
    def __init__(self, name: _Optional[str] = ..., media_type: _Optional[str] = ..., size_bytes: _Optional[int] = ...) -> None: ...

class FetchPhoneJobResultResponse(_message.Message):
    __slots__ = ("result", "content", "say")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    SAY_FIELD_NUMBER: _ClassVar[int]
    result: PhoneJobResult
    content: str
    say: str
    def __init__(self, result: _Optional[_Union[PhoneJobResult, _Mapping]] = ..., content: _Optional[str] = ..., say: _Optional[str] = ...) -> None: ...

class SavePhoneJobFilesRequest(_message.Message):
    __slots__ = ("job", "folder", "replace")
    JOB_FIELD_NUMBER: _ClassVar[int]
    FOLDER_FIELD_NUMBER: _ClassVar[int]
    REPLACE_FIELD_NUMBER: _ClassVar[int]
    job: str
    folder: str
    replace: bool
    def __init__(self, job: _Optional[str] = ..., folder: _Optional[str] = ..., replace: _Optional[bool] = ...) -> None: ...

class SavePhoneJobFilesResponse(_message.Message):
    __slots__ = ("paths",)
    PATHS_FIELD_NUMBER: _ClassVar[int]
    paths: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, paths: _Optional[_Iterable[str]] = ...) -> None: ...

class ListWaitingApprovalsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListWaitingApprovalsResponse(_message.Message):
    __slots__ = ("node", "node_name", "approval")
    NODE_FIELD_NUMBER: _ClassVar[int]
    NODE_NAME_FIELD_NUMBER: _ClassVar[int]
    APPROVAL_FIELD_NUMBER: _ClassVar[int]
    node: str
    node_name: str
    approval: _job_pb2.PendingApproval
    def __init__(self, node: _Optional[str] = ..., node_name: _Optional[str] = ..., approval: _Optional[_Union[_job_pb2.PendingApproval, _Mapping]] = ...) -> None: ...

class AnswerWaitingApprovalRequest(_message.Message):
    __slots__ = ("approval_id", "verdict", "node", "job_id", "request_id", "step", "tool_hash", "argument_hash")
    APPROVAL_ID_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    TOOL_HASH_FIELD_NUMBER: _ClassVar[int]
    ARGUMENT_HASH_FIELD_NUMBER: _ClassVar[int]
    approval_id: str
    verdict: _tool_pb2.Verdict
    node: str
    job_id: str
    request_id: str
    step: int
    tool_hash: str
    argument_hash: str
    def __init__(self, approval_id: _Optional[str] = ..., verdict: _Optional[_Union[_tool_pb2.Verdict, str]] = ..., node: _Optional[str] = ..., job_id: _Optional[str] = ..., request_id: _Optional[str] = ..., step: _Optional[int] = ..., tool_hash: _Optional[str] = ..., argument_hash: _Optional[str] = ...) -> None: ...

class AnswerWaitingApprovalResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: PhoneJob
    def __init__(self, job: _Optional[_Union[PhoneJob, _Mapping]] = ...) -> None: ...

class SettlePhoneJobRequest(_message.Message):
    __slots__ = ("job", "settlement")
    JOB_FIELD_NUMBER: _ClassVar[int]
    SETTLEMENT_FIELD_NUMBER: _ClassVar[int]
    job: str
    settlement: _job_pb2.Settlement
    def __init__(self, job: _Optional[str] = ..., settlement: _Optional[_Union[_job_pb2.Settlement, str]] = ...) -> None: ...

class SettlePhoneJobResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: PhoneJob
    def __init__(self, job: _Optional[_Union[PhoneJob, _Mapping]] = ...) -> None: ...

class ForgetPhoneJobRequest(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: str
    def __init__(self, job: _Optional[str] = ...) -> None: ...

class ForgetPhoneJobResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
