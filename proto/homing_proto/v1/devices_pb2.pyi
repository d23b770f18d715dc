from homing_proto.v1 import common_pb2 as _common_pb2
from homing_proto.v1 import node_pb2 as _node_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DeviceState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DEVICE_STATE_UNSPECIFIED: _ClassVar[DeviceState]
    DEVICE_STATE_LET_IN: _ClassVar[DeviceState]
    DEVICE_STATE_OVER: _ClassVar[DeviceState]
    DEVICE_STATE_SHUT_OUT: _ClassVar[DeviceState]
DEVICE_STATE_UNSPECIFIED: DeviceState
DEVICE_STATE_LET_IN: DeviceState
DEVICE_STATE_OVER: DeviceState
DEVICE_STATE_SHUT_OUT: DeviceState

class Limits(_message.Message):
    __slots__ = ("tokens_per_day", "concurrent_streams", "jobs", "models", "tools", "expires_at", "hours")
    TOKENS_PER_DAY_FIELD_NUMBER: _ClassVar[int]
    CONCURRENT_STREAMS_FIELD_NUMBER: _ClassVar[int]
    JOBS_FIELD_NUMBER: _ClassVar[int]
    MODELS_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    HOURS_FIELD_NUMBER: _ClassVar[int]
    tokens_per_day: int
    concurrent_streams: int
    jobs: int
    models: _containers.RepeatedScalarFieldContainer[str]
    tools: _containers.RepeatedScalarFieldContainer[str]
    expires_at: int
    hours: str
    def __init__(self, tokens_per_day: _Optional[int] = ..., concurrent_streams: _Optional[int] = ..., jobs: _Optional[int] = ..., models: _Optional[_Iterable[str]] = ..., tools: _Optional[_Iterable[str]] = ..., expires_at: _Optional[int] = ..., hours: _Optional[str] = ...) -> None: ...

class Device(_message.Message):
    __slots__ = ("id", "name", "role", "scopes", "limits", "paired_at", "last_seen_at", "introduced_by", "state")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    SCOPES_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    PAIRED_AT_FIELD_NUMBER: _ClassVar[int]
    LAST_SEEN_AT_FIELD_NUMBER: _ClassVar[int]
    INTRODUCED_BY_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    role: _node_pb2.DeviceRole
    scopes: _containers.RepeatedScalarFieldContainer[_node_pb2.Scope]
    limits: Limits
    paired_at: int
    last_seen_at: int
    introduced_by: str
    state: DeviceState
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., role: _Optional[_Union[_node_pb2.DeviceRole, str]] = ..., scopes: _Optional[_Iterable[_Union[_node_pb2.Scope, str]]] = ..., limits: _Optional[_Union[Limits, _Mapping]] = ..., paired_at: _Optional[int] = ..., last_seen_at: _Optional[int] = ..., introduced_by: _Optional[str] = ..., state: _Optional[_Union[DeviceState, str]] = ...) -> None: ...

class ListDevicesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListDevicesResponse(_message.Message):
    __slots__ = ("devices",)
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    devices: _containers.RepeatedCompositeFieldContainer[Device]
    def __init__(self, devices: _Optional[_Iterable[_Union[Device, _Mapping]]] = ...) -> None: ...

class RevokeDeviceRequest(_message.Message):
    __slots__ = ("id", "recovery_secret")
    ID_FIELD_NUMBER: _ClassVar[int]
    RECOVERY_SECRET_FIELD_NUMBER: _ClassVar[int]
    id: str
    recovery_secret: str
    def __init__(self, id: _Optional[str] = ..., recovery_secret: _Optional[str] = ...) -> None: ...

class RevokeDeviceResponse(_message.Message):
    __slots__ = ("devices",)
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    devices: _containers.RepeatedCompositeFieldContainer[Device]
    def __init__(self, devices: _Optional[_Iterable[_Union[Device, _Mapping]]] = ...) -> None: ...

class GrantDeviceRequest(_message.Message):
    __slots__ = ("id", "role", "scopes", "limits", "recovery_secret")
    ID_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    SCOPES_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    RECOVERY_SECRET_FIELD_NUMBER: _ClassVar[int]
    id: str
    role: _node_pb2.DeviceRole
    scopes: _containers.RepeatedScalarFieldContainer[_node_pb2.Scope]
    limits: Limits
    recovery_secret: str
    def __init__(self, id: _Optional[str] = ..., role: _Optional[_Union[_node_pb2.DeviceRole, str]] = ..., scopes: _Optional[_Iterable[_Union[_node_pb2.Scope, str]]] = ..., limits: _Optional[_Union[Limits, _Mapping]] = ..., recovery_secret: _Optional[str] = ...) -> None: ...

class GrantDeviceResponse(_message.Message):
    __slots__ = ("device",)
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    device: Device
    def __init__(self, device: _Optional[_Union[Device, _Mapping]] = ...) -> None: ...

class PairRequest(_message.Message):
    __slots__ = ("version", "certificate_der", "hpke_public_key", "hpke_signature", "name", "nonce", "proof", "link_id")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CERTIFICATE_DER_FIELD_NUMBER: _ClassVar[int]
    HPKE_PUBLIC_KEY_FIELD_NUMBER: _ClassVar[int]
    HPKE_SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    NONCE_FIELD_NUMBER: _ClassVar[int]
    PROOF_FIELD_NUMBER: _ClassVar[int]
    LINK_ID_FIELD_NUMBER: _ClassVar[int]
    version: int
    certificate_der: bytes
    hpke_public_key: bytes
    hpke_signature: bytes
    name: str
    nonce: bytes
    proof: bytes
    link_id: str
    def __init__(self, version: _Optional[int] = ..., certificate_der: _Optional[bytes] = ..., hpke_public_key: _Optional[bytes] = ..., hpke_signature: _Optional[bytes] = ..., name: _Optional[str] = ..., nonce: _Optional[bytes] = ..., proof: _Optional[bytes] = ..., link_id: _Optional[str] = ...) -> None: ...

class PairResponse(_message.Message):
    __slots__ = ("certificate_der", "hpke_public_key", "hpke_signature", "name", "role", "scopes", "addresses", "proof")
    CERTIFICATE_DER_FIELD_NUMBER: _ClassVar[int]
    HPKE_PUBLIC_KEY_FIELD_NUMBER: _ClassVar[int]
    HPKE_SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    SCOPES_FIELD_NUMBER: _ClassVar[int]
    ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    PROOF_FIELD_NUMBER: _ClassVar[int]
    certificate_der: bytes
    hpke_public_key: bytes
    hpke_signature: bytes
    name: str
    role: _node_pb2.DeviceRole
    scopes: _containers.RepeatedScalarFieldContainer[_node_pb2.Scope]
    addresses: _containers.RepeatedScalarFieldContainer[str]
    proof: bytes
    def __init__(self, certificate_der: _Optional[bytes] = ..., hpke_public_key: _Optional[bytes] = ..., hpke_signature: _Optional[bytes] = ..., name: _Optional[str] = ..., role: _Optional[_Union[_node_pb2.DeviceRole, str]] = ..., scopes: _Optional[_Iterable[_Union[_node_pb2.Scope, str]]] = ..., addresses: _Optional[_Iterable[str]] = ..., proof: _Optional[bytes] = ...) -> None: ...

class Introduction(_message.Message):
    __slots__ = ("device_id", "certificate_der", "name", "scopes", "limits", "lease_expires_at", "serial", "signature", "hpke_public_key", "hpke_signature", "home_id", "peer_id")
    DEVICE_ID_FIELD_NUMBER: _ClassVar[int]
    CERTIFICATE_DER_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SCOPES_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    LEASE_EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    SERIAL_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    HPKE_PUBLIC_KEY_FIELD_NUMBER: _ClassVar[int]
    HPKE_SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    HOME_ID_FIELD_NUMBER: _ClassVar[int]
    PEER_ID_FIELD_NUMBER: _ClassVar[int]
    device_id: str
    certificate_der: bytes
    name: str
    scopes: _containers.RepeatedScalarFieldContainer[_node_pb2.Scope]
    limits: Limits
    lease_expires_at: int
    serial: int
    signature: bytes
    hpke_public_key: bytes
    hpke_signature: bytes
    home_id: str
    peer_id: str
    def __init__(self, device_id: _Optional[str] = ..., certificate_der: _Optional[bytes] = ..., name: _Optional[str] = ..., scopes: _Optional[_Iterable[_Union[_node_pb2.Scope, str]]] = ..., limits: _Optional[_Union[Limits, _Mapping]] = ..., lease_expires_at: _Optional[int] = ..., serial: _Optional[int] = ..., signature: _Optional[bytes] = ..., hpke_public_key: _Optional[bytes] = ..., hpke_signature: _Optional[bytes] = ..., home_id: _Optional[str] = ..., peer_id: _Optional[str] = ...) -> None: ...

class PushIntroductionsRequest(_message.Message):
    __slots__ = ("introductions",)
    INTRODUCTIONS_FIELD_NUMBER: _ClassVar[int]
    introductions: _containers.RepeatedCompositeFieldContainer[Introduction]
    def __init__(self, introductions: _Optional[_Iterable[_Union[Introduction, _Mapping]]] = ...) -> None: ...

class PushIntroductionsResponse(_message.Message):
    __slots__ = ("accepted", "refused", "refusals", "addresses", "serial")
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    REFUSALS_FIELD_NUMBER: _ClassVar[int]
    ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    SERIAL_FIELD_NUMBER: _ClassVar[int]
    accepted: _containers.RepeatedScalarFieldContainer[str]
    refused: _containers.RepeatedCompositeFieldContainer[_common_pb2.Error]
    refusals: _containers.RepeatedCompositeFieldContainer[RefusedIntroduction]
    addresses: _containers.RepeatedScalarFieldContainer[str]
    serial: int
    def __init__(self, accepted: _Optional[_Iterable[str]] = ..., refused: _Optional[_Iterable[_Union[_common_pb2.Error, _Mapping]]] = ..., refusals: _Optional[_Iterable[_Union[RefusedIntroduction, _Mapping]]] = ..., addresses: _Optional[_Iterable[str]] = ..., serial: _Optional[int] = ...) -> None: ...

class RefusedIntroduction(_message.Message):
    __slots__ = ("device_id", "error")
    DEVICE_ID_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    device_id: str
    error: _common_pb2.Error
    def __init__(self, device_id: _Optional[str] = ..., error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ...) -> None: ...

class WithdrawIntroductionsRequest(_message.Message):
    __slots__ = ("device_ids", "serial")
    DEVICE_IDS_FIELD_NUMBER: _ClassVar[int]
    SERIAL_FIELD_NUMBER: _ClassVar[int]
    device_ids: _containers.RepeatedScalarFieldContainer[str]
    serial: int
    def __init__(self, device_ids: _Optional[_Iterable[str]] = ..., serial: _Optional[int] = ...) -> None: ...

class WithdrawIntroductionsResponse(_message.Message):
    __slots__ = ("serial",)
    SERIAL_FIELD_NUMBER: _ClassVar[int]
    serial: int
    def __init__(self, serial: _Optional[int] = ...) -> None: ...

class ListPeersRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Peer(_message.Message):
    __slots__ = ("node_id", "certificate_der", "name", "addresses", "accepts", "lease_expires_at", "scopes")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    CERTIFICATE_DER_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    ACCEPTS_FIELD_NUMBER: _ClassVar[int]
    LEASE_EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    SCOPES_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    certificate_der: bytes
    name: str
    addresses: _containers.RepeatedScalarFieldContainer[str]
    accepts: _common_pb2.Sensitivity
    lease_expires_at: int
    scopes: _containers.RepeatedScalarFieldContainer[_node_pb2.Scope]
    def __init__(self, node_id: _Optional[str] = ..., certificate_der: _Optional[bytes] = ..., name: _Optional[str] = ..., addresses: _Optional[_Iterable[str]] = ..., accepts: _Optional[_Union[_common_pb2.Sensitivity, str]] = ..., lease_expires_at: _Optional[int] = ..., scopes: _Optional[_Iterable[_Union[_node_pb2.Scope, str]]] = ...) -> None: ...

class ListPeersResponse(_message.Message):
    __slots__ = ("peers",)
    PEERS_FIELD_NUMBER: _ClassVar[int]
    peers: _containers.RepeatedCompositeFieldContainer[Peer]
    def __init__(self, peers: _Optional[_Iterable[_Union[Peer, _Mapping]]] = ...) -> None: ...
