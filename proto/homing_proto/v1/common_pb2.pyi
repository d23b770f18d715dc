from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Origin(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ORIGIN_UNSPECIFIED: _ClassVar[Origin]
    ORIGIN_PERSON: _ClassVar[Origin]
    ORIGIN_MODEL: _ClassVar[Origin]
    ORIGIN_TOOL: _ClassVar[Origin]
    ORIGIN_DOCUMENT: _ClassVar[Origin]
    ORIGIN_NETWORK: _ClassVar[Origin]

class Trust(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TRUST_UNSPECIFIED: _ClassVar[Trust]
    TRUST_TRUSTED: _ClassVar[Trust]
    TRUST_UNTRUSTED: _ClassVar[Trust]

class Sensitivity(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SENSITIVITY_UNSPECIFIED: _ClassVar[Sensitivity]
    SENSITIVITY_PHONE_ONLY: _ClassVar[Sensitivity]
    SENSITIVITY_HOME_ONLY: _ClassVar[Sensitivity]
    SENSITIVITY_TRUSTED_PEERS: _ClassVar[Sensitivity]
    SENSITIVITY_ANY_PAIRED: _ClassVar[Sensitivity]

class Place(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PLACE_UNSPECIFIED: _ClassVar[Place]
    PLACE_PHONE: _ClassVar[Place]
    PLACE_HOME: _ClassVar[Place]
    PLACE_PEER: _ClassVar[Place]
ORIGIN_UNSPECIFIED: Origin
ORIGIN_PERSON: Origin
ORIGIN_MODEL: Origin
ORIGIN_TOOL: Origin
ORIGIN_DOCUMENT: Origin
ORIGIN_NETWORK: Origin
TRUST_UNSPECIFIED: Trust
TRUST_TRUSTED: Trust
TRUST_UNTRUSTED: Trust
SENSITIVITY_UNSPECIFIED: Sensitivity
SENSITIVITY_PHONE_ONLY: Sensitivity
SENSITIVITY_HOME_ONLY: Sensitivity
SENSITIVITY_TRUSTED_PEERS: Sensitivity
SENSITIVITY_ANY_PAIRED: Sensitivity
PLACE_UNSPECIFIED: Place
PLACE_PHONE: Place
PLACE_HOME: Place
PLACE_PEER: Place

class Provenance(_message.Message):
    __slots__ = ("origin", "trust", "sensitivity", "source")
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    TRUST_FIELD_NUMBER: _ClassVar[int]
    SENSITIVITY_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    origin: Origin
    trust: Trust
    sensitivity: Sensitivity
    source: str
    def __init__(self, origin: _Optional[_Union[Origin, str]] = ..., trust: _Optional[_Union[Trust, str]] = ..., sensitivity: _Optional[_Union[Sensitivity, str]] = ..., source: _Optional[str] = ...) -> None: ...

class Error(_message.Message):
    __slots__ = ("code", "what", "hint", "retryable", "retry_after_ms")
    CODE_FIELD_NUMBER: _ClassVar[int]
    WHAT_FIELD_NUMBER: _ClassVar[int]
    HINT_FIELD_NUMBER: _ClassVar[int]
    RETRYABLE_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_MS_FIELD_NUMBER: _ClassVar[int]
    code: str
    what: str
    hint: str
    retryable: bool
    retry_after_ms: int
    def __init__(self, code: _Optional[str] = ..., what: _Optional[str] = ..., hint: _Optional[str] = ..., retryable: _Optional[bool] = ..., retry_after_ms: _Optional[int] = ...) -> None: ...
