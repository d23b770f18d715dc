from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class GetRecoveryRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetRecoveryResponse(_message.Message):
    __slots__ = ("made_at", "shown")
    MADE_AT_FIELD_NUMBER: _ClassVar[int]
    SHOWN_FIELD_NUMBER: _ClassVar[int]
    made_at: int
    shown: bool
    def __init__(self, made_at: _Optional[int] = ..., shown: _Optional[bool] = ...) -> None: ...

class MakeRecoveryRequest(_message.Message):
    __slots__ = ("if_missing",)
    IF_MISSING_FIELD_NUMBER: _ClassVar[int]
    if_missing: bool
    def __init__(self, if_missing: _Optional[bool] = ...) -> None: ...

class MakeRecoveryResponse(_message.Message):
    __slots__ = ("secret", "made_at")
    SECRET_FIELD_NUMBER: _ClassVar[int]
    MADE_AT_FIELD_NUMBER: _ClassVar[int]
    secret: str
    made_at: int
    def __init__(self, secret: _Optional[str] = ..., made_at: _Optional[int] = ...) -> None: ...

class ConfirmRecoveryRequest(_message.Message):
    __slots__ = ("made_at",)
    MADE_AT_FIELD_NUMBER: _ClassVar[int]
    made_at: int
    def __init__(self, made_at: _Optional[int] = ...) -> None: ...

class ConfirmRecoveryResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
