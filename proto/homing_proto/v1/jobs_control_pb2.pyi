from homing_proto.v1 import job_pb2 as _job_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class NodeJob(_message.Message):
    __slots__ = ("id", "account", "device_name", "peer", "tool_server", "tool_name", "state", "submitted_at", "ended_at", "last_seq", "progress", "summary", "priority", "attempt", "runner", "ending", "result_bytes", "delivered_at")
    ID_FIELD_NUMBER: _ClassVar[int]
    ACCOUNT_FIELD_NUMBER: _ClassVar[int]
    DEVICE_NAME_FIELD_NUMBER: _ClassVar[int]
    PEER_FIELD_NUMBER: _ClassVar[int]
    TOOL_SERVER_FIELD_NUMBER: _ClassVar[int]
    TOOL_NAME_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    SUBMITTED_AT_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_FIELD_NUMBER: _ClassVar[int]
    LAST_SEQ_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    RUNNER_FIELD_NUMBER: _ClassVar[int]
    ENDING_FIELD_NUMBER: _ClassVar[int]
    RESULT_BYTES_FIELD_NUMBER: _ClassVar[int]
    DELIVERED_AT_FIELD_NUMBER: _ClassVar[int]
    id: str
    account: str
    device_name: str
    peer: str
    tool_server: str
    tool_name: str
    state: _job_pb2.JobState
    submitted_at: float
    ended_at: float
    last_seq: int
    progress: _job_pb2.JobProgress
    summary: str
    priority: int
    attempt: int
    runner: str
    ending: bool
    result_bytes: int
    delivered_at: float
    def __init__(self, id: _Optional[str] = ..., account: _Optional[str] = ..., device_name: _Optional[str] = ..., peer: _Optional[str] = ..., tool_server: _Optional[str] = ..., tool_name: _Optional[str] = ..., state: _Optional[_Union[_job_pb2.JobState, str]] = ..., submitted_at: _Optional[float] = ..., ended_at: _Optional[float] = ..., last_seq: _Optional[int] = ..., progress: _Optional[_Union[_job_pb2.JobProgress, _Mapping]] = ..., summary: _Optional[str] = ..., priority: _Optional[int] = ..., attempt: _Optional[int] = ..., runner: _Optional[str] = ..., ending: _Optional[bool] = ..., result_bytes: _Optional[int] = ..., delivered_at: _Optional[float] = ...) -> None: ...

class ListNodeJobsRequest(_message.Message):
    __slots__ = ("limit",)
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    limit: int
    def __init__(self, limit: _Optional[int] = ...) -> None: ...

class ListNodeJobsResponse(_message.Message):
    __slots__ = ("jobs",)
    JOBS_FIELD_NUMBER: _ClassVar[int]
    jobs: _containers.RepeatedCompositeFieldContainer[NodeJob]
    def __init__(self, jobs: _Optional[_Iterable[_Union[NodeJob, _Mapping]]] = ...) -> None: ...

class ShowNodeJobRequest(_message.Message):
    __slots__ = ("id_prefix",)
    ID_PREFIX_FIELD_NUMBER: _ClassVar[int]
    id_prefix: str
    def __init__(self, id_prefix: _Optional[str] = ...) -> None: ...

class ShowNodeJobResponse(_message.Message):
    __slots__ = ("job", "events")
    JOB_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    job: NodeJob
    events: _containers.RepeatedCompositeFieldContainer[_job_pb2.JobEvent]
    def __init__(self, job: _Optional[_Union[NodeJob, _Mapping]] = ..., events: _Optional[_Iterable[_Union[_job_pb2.JobEvent, _Mapping]]] = ...) -> None: ...

class CancelNodeJobRequest(_message.Message):
    __slots__ = ("id_prefix",)
    ID_PREFIX_FIELD_NUMBER: _ClassVar[int]
    id_prefix: str
    def __init__(self, id_prefix: _Optional[str] = ...) -> None: ...

class CancelNodeJobResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: NodeJob
    def __init__(self, job: _Optional[_Union[NodeJob, _Mapping]] = ...) -> None: ...

class ListNodeApprovalsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListNodeApprovalsResponse(_message.Message):
    __slots__ = ("approvals",)
    APPROVALS_FIELD_NUMBER: _ClassVar[int]
    approvals: _containers.RepeatedCompositeFieldContainer[_job_pb2.PendingApproval]
    def __init__(self, approvals: _Optional[_Iterable[_Union[_job_pb2.PendingApproval, _Mapping]]] = ...) -> None: ...

class AnswerNodeApprovalRequest(_message.Message):
    __slots__ = ("approval_id", "allow")
    APPROVAL_ID_FIELD_NUMBER: _ClassVar[int]
    ALLOW_FIELD_NUMBER: _ClassVar[int]
    approval_id: str
    allow: bool
    def __init__(self, approval_id: _Optional[str] = ..., allow: _Optional[bool] = ...) -> None: ...

class AnswerNodeApprovalResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: NodeJob
    def __init__(self, job: _Optional[_Union[NodeJob, _Mapping]] = ...) -> None: ...

class SettleNodeJobRequest(_message.Message):
    __slots__ = ("id_prefix", "settlement")
    ID_PREFIX_FIELD_NUMBER: _ClassVar[int]
    SETTLEMENT_FIELD_NUMBER: _ClassVar[int]
    id_prefix: str
    settlement: _job_pb2.Settlement
    def __init__(self, id_prefix: _Optional[str] = ..., settlement: _Optional[_Union[_job_pb2.Settlement, str]] = ...) -> None: ...

class SettleNodeJobResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: NodeJob
    def __init__(self, job: _Optional[_Union[NodeJob, _Mapping]] = ...) -> None: ...
