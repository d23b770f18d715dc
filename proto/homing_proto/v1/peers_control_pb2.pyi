from homing_proto.v1 import common_pb2 as _common_pb2
from homing_proto.v1 import devices_pb2 as _devices_pb2
from homing_proto.v1 import node_pb2 as _node_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SharingState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SHARING_STATE_UNSPECIFIED: _ClassVar[SharingState]
    SHARING_STATE_TAKEN: _ClassVar[SharingState]
    SHARING_STATE_WAITING: _ClassVar[SharingState]
    SHARING_STATE_REFUSED: _ClassVar[SharingState]
    SHARING_STATE_WITHDRAWING: _ClassVar[SharingState]
SHARING_STATE_UNSPECIFIED: SharingState
SHARING_STATE_TAKEN: SharingState
SHARING_STATE_WAITING: SharingState
SHARING_STATE_REFUSED: SharingState
SHARING_STATE_WITHDRAWING: SharingState

class SharedDevice(_message.Message):
    __slots__ = ("device_id", "name", "state", "lease_expires_at", "reason")
    DEVICE_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    LEASE_EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    device_id: str
    name: str
    state: SharingState
    lease_expires_at: int
    reason: str
    def __init__(self, device_id: _Optional[str] = ..., name: _Optional[str] = ..., state: _Optional[_Union[SharingState, str]] = ..., lease_expires_at: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class NodePeer(_message.Message):
    __slots__ = ("id", "name", "addresses", "pushed_at", "error", "guests", "leaving", "devices")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    PUSHED_AT_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    GUESTS_FIELD_NUMBER: _ClassVar[int]
    LEAVING_FIELD_NUMBER: _ClassVar[int]
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    addresses: _containers.RepeatedScalarFieldContainer[str]
    pushed_at: int
    error: _common_pb2.Error
    guests: bool
    leaving: bool
    devices: _containers.RepeatedCompositeFieldContainer[SharedDevice]
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., addresses: _Optional[_Iterable[str]] = ..., pushed_at: _Optional[int] = ..., error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., guests: _Optional[bool] = ..., leaving: _Optional[bool] = ..., devices: _Optional[_Iterable[_Union[SharedDevice, _Mapping]]] = ...) -> None: ...

class NodeHome(_message.Message):
    __slots__ = ("id", "name", "devices", "most_devices", "scopes", "limits", "last_seen_at")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    MOST_DEVICES_FIELD_NUMBER: _ClassVar[int]
    SCOPES_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    LAST_SEEN_AT_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    devices: int
    most_devices: int
    scopes: _containers.RepeatedScalarFieldContainer[_node_pb2.Scope]
    limits: _devices_pb2.Limits
    last_seen_at: int
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., devices: _Optional[int] = ..., most_devices: _Optional[int] = ..., scopes: _Optional[_Iterable[_Union[_node_pb2.Scope, str]]] = ..., limits: _Optional[_Union[_devices_pb2.Limits, _Mapping]] = ..., last_seen_at: _Optional[int] = ...) -> None: ...

class AddPeerRequest(_message.Message):
    __slots__ = ("link", "name")
    LINK_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    link: str
    name: str
    def __init__(self, link: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class AddPeerResponse(_message.Message):
    __slots__ = ("peer",)
    PEER_FIELD_NUMBER: _ClassVar[int]
    peer: NodePeer
    def __init__(self, peer: _Optional[_Union[NodePeer, _Mapping]] = ...) -> None: ...

class ListNodePeersRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListNodePeersResponse(_message.Message):
    __slots__ = ("peers", "homes")
    PEERS_FIELD_NUMBER: _ClassVar[int]
    HOMES_FIELD_NUMBER: _ClassVar[int]
    peers: _containers.RepeatedCompositeFieldContainer[NodePeer]
    homes: _containers.RepeatedCompositeFieldContainer[NodeHome]
    def __init__(self, peers: _Optional[_Iterable[_Union[NodePeer, _Mapping]]] = ..., homes: _Optional[_Iterable[_Union[NodeHome, _Mapping]]] = ...) -> None: ...

class RemovePeerRequest(_message.Message):
    __slots__ = ("peer",)
    PEER_FIELD_NUMBER: _ClassVar[int]
    peer: str
    def __init__(self, peer: _Optional[str] = ...) -> None: ...

class RemovePeerResponse(_message.Message):
    __slots__ = ("peer", "gone")
    PEER_FIELD_NUMBER: _ClassVar[int]
    GONE_FIELD_NUMBER: _ClassVar[int]
    peer: NodePeer
    gone: bool
    def __init__(self, peer: _Optional[_Union[NodePeer, _Mapping]] = ..., gone: _Optional[bool] = ...) -> None: ...

class SharePeerRequest(_message.Message):
    __slots__ = ("peer", "guests", "add", "drop")
    PEER_FIELD_NUMBER: _ClassVar[int]
    GUESTS_FIELD_NUMBER: _ClassVar[int]
    ADD_FIELD_NUMBER: _ClassVar[int]
    DROP_FIELD_NUMBER: _ClassVar[int]
    peer: str
    guests: bool
    add: _containers.RepeatedScalarFieldContainer[str]
    drop: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, peer: _Optional[str] = ..., guests: _Optional[bool] = ..., add: _Optional[_Iterable[str]] = ..., drop: _Optional[_Iterable[str]] = ...) -> None: ...

class SharePeerResponse(_message.Message):
    __slots__ = ("peer",)
    PEER_FIELD_NUMBER: _ClassVar[int]
    peer: NodePeer
    def __init__(self, peer: _Optional[_Union[NodePeer, _Mapping]] = ...) -> None: ...
