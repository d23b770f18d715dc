from homing_proto.v1 import node_pb2 as _node_pb2
from homing_proto.v1 import phone_pb2 as _phone_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class StartCodeRequest(_message.Message):
    __slots__ = ("version", "attempt_id", "certificate_der", "hpke_public_key", "hpke_signature", "name", "nonce", "message")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_ID_FIELD_NUMBER: _ClassVar[int]
    CERTIFICATE_DER_FIELD_NUMBER: _ClassVar[int]
    HPKE_PUBLIC_KEY_FIELD_NUMBER: _ClassVar[int]
    HPKE_SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    NONCE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    version: int
    attempt_id: str
    certificate_der: bytes
    hpke_public_key: bytes
    hpke_signature: bytes
    name: str
    nonce: bytes
    message: bytes
    def __init__(self, version: _Optional[int] = ..., attempt_id: _Optional[str] = ..., certificate_der: _Optional[bytes] = ..., hpke_public_key: _Optional[bytes] = ..., hpke_signature: _Optional[bytes] = ..., name: _Optional[str] = ..., nonce: _Optional[bytes] = ..., message: _Optional[bytes] = ...) -> None: ...

class StartCodeResponse(_message.Message):
    __slots__ = ("certificate_der", "hpke_public_key", "hpke_signature", "name", "role", "nonce", "message")
    CERTIFICATE_DER_FIELD_NUMBER: _ClassVar[int]
    HPKE_PUBLIC_KEY_FIELD_NUMBER: _ClassVar[int]
    HPKE_SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    NONCE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    certificate_der: bytes
    hpke_public_key: bytes
    hpke_signature: bytes
    name: str
    role: _node_pb2.DeviceRole
    nonce: bytes
    message: bytes
    def __init__(self, certificate_der: _Optional[bytes] = ..., hpke_public_key: _Optional[bytes] = ..., hpke_signature: _Optional[bytes] = ..., name: _Optional[str] = ..., role: _Optional[_Union[_node_pb2.DeviceRole, str]] = ..., nonce: _Optional[bytes] = ..., message: _Optional[bytes] = ...) -> None: ...

class ConfirmCodeRequest(_message.Message):
    __slots__ = ("attempt_id", "confirmation")
    ATTEMPT_ID_FIELD_NUMBER: _ClassVar[int]
    CONFIRMATION_FIELD_NUMBER: _ClassVar[int]
    attempt_id: str
    confirmation: bytes
    def __init__(self, attempt_id: _Optional[str] = ..., confirmation: _Optional[bytes] = ...) -> None: ...

class ConfirmCodeResponse(_message.Message):
    __slots__ = ("addresses", "confirmation")
    ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    CONFIRMATION_FIELD_NUMBER: _ClassVar[int]
    addresses: _containers.RepeatedScalarFieldContainer[str]
    confirmation: bytes
    def __init__(self, addresses: _Optional[_Iterable[str]] = ..., confirmation: _Optional[bytes] = ...) -> None: ...

class AwaitEntryRequest(_message.Message):
    __slots__ = ("attempt_id",)
    ATTEMPT_ID_FIELD_NUMBER: _ClassVar[int]
    attempt_id: str
    def __init__(self, attempt_id: _Optional[str] = ...) -> None: ...

class AwaitEntryResponse(_message.Message):
    __slots__ = ("role", "scopes", "addresses", "confirmation")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    SCOPES_FIELD_NUMBER: _ClassVar[int]
    ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    CONFIRMATION_FIELD_NUMBER: _ClassVar[int]
    role: _node_pb2.DeviceRole
    scopes: _containers.RepeatedScalarFieldContainer[_node_pb2.Scope]
    addresses: _containers.RepeatedScalarFieldContainer[str]
    confirmation: bytes
    def __init__(self, role: _Optional[_Union[_node_pb2.DeviceRole, str]] = ..., scopes: _Optional[_Iterable[_Union[_node_pb2.Scope, str]]] = ..., addresses: _Optional[_Iterable[str]] = ..., confirmation: _Optional[bytes] = ...) -> None: ...

class DecidePairingRequest(_message.Message):
    __slots__ = ("attempt_id", "allow")
    ATTEMPT_ID_FIELD_NUMBER: _ClassVar[int]
    ALLOW_FIELD_NUMBER: _ClassVar[int]
    attempt_id: str
    allow: bool
    def __init__(self, attempt_id: _Optional[str] = ..., allow: _Optional[bool] = ...) -> None: ...

class DecidePairingResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class PairByCodeRequest(_message.Message):
    __slots__ = ("code", "device_name", "at")
    CODE_FIELD_NUMBER: _ClassVar[int]
    DEVICE_NAME_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    code: str
    device_name: str
    at: str
    def __init__(self, code: _Optional[str] = ..., device_name: _Optional[str] = ..., at: _Optional[str] = ...) -> None: ...

class PairByCodeResponse(_message.Message):
    __slots__ = ("looking", "waiting", "paired")
    LOOKING_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    PAIRED_FIELD_NUMBER: _ClassVar[int]
    looking: bool
    waiting: PairingWait
    paired: _phone_pb2.KnownNode
    def __init__(self, looking: _Optional[bool] = ..., waiting: _Optional[_Union[PairingWait, _Mapping]] = ..., paired: _Optional[_Union[_phone_pb2.KnownNode, _Mapping]] = ...) -> None: ...

class PairingWait(_message.Message):
    __slots__ = ("node_name", "device_id", "device_name")
    NODE_NAME_FIELD_NUMBER: _ClassVar[int]
    DEVICE_ID_FIELD_NUMBER: _ClassVar[int]
    DEVICE_NAME_FIELD_NUMBER: _ClassVar[int]
    node_name: str
    device_id: str
    device_name: str
    def __init__(self, node_name: _Optional[str] = ..., device_id: _Optional[str] = ..., device_name: _Optional[str] = ...) -> None: ...
