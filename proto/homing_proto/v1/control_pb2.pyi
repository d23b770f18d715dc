from homing_proto.v1 import devices_pb2 as _devices_pb2
from homing_proto.v1 import node_pb2 as _node_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PairingCodeOffer(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PAIRING_CODE_OFFER_UNSPECIFIED: _ClassVar[PairingCodeOffer]
    PAIRING_CODE_OFFER_ASK: _ClassVar[PairingCodeOffer]
    PAIRING_CODE_OFFER_ACCEPT: _ClassVar[PairingCodeOffer]
PAIRING_CODE_OFFER_UNSPECIFIED: PairingCodeOffer
PAIRING_CODE_OFFER_ASK: PairingCodeOffer
PAIRING_CODE_OFFER_ACCEPT: PairingCodeOffer

class GetDaemonRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetDaemonResponse(_message.Message):
    __slots__ = ("version", "pid", "node_id", "name", "addresses", "models", "load")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    MODELS_FIELD_NUMBER: _ClassVar[int]
    LOAD_FIELD_NUMBER: _ClassVar[int]
    version: str
    pid: int
    node_id: str
    name: str
    addresses: _containers.RepeatedScalarFieldContainer[str]
    models: _containers.RepeatedCompositeFieldContainer[_node_pb2.ServedModel]
    load: _node_pb2.Load
    def __init__(self, version: _Optional[str] = ..., pid: _Optional[int] = ..., node_id: _Optional[str] = ..., name: _Optional[str] = ..., addresses: _Optional[_Iterable[str]] = ..., models: _Optional[_Iterable[_Union[_node_pb2.ServedModel, _Mapping]]] = ..., load: _Optional[_Union[_node_pb2.Load, _Mapping]] = ...) -> None: ...

class OpenPairingRequest(_message.Message):
    __slots__ = ("role", "seconds", "code")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    role: _node_pb2.DeviceRole
    seconds: int
    code: PairingCodeOffer
    def __init__(self, role: _Optional[_Union[_node_pb2.DeviceRole, str]] = ..., seconds: _Optional[int] = ..., code: _Optional[_Union[PairingCodeOffer, str]] = ...) -> None: ...

class OpenPairingResponse(_message.Message):
    __slots__ = ("opened", "wrong_guess_left", "paired", "closed", "asks", "wrong_code_left")
    OPENED_FIELD_NUMBER: _ClassVar[int]
    WRONG_GUESS_LEFT_FIELD_NUMBER: _ClassVar[int]
    PAIRED_FIELD_NUMBER: _ClassVar[int]
    CLOSED_FIELD_NUMBER: _ClassVar[int]
    ASKS_FIELD_NUMBER: _ClassVar[int]
    WRONG_CODE_LEFT_FIELD_NUMBER: _ClassVar[int]
    opened: PairingOpened
    wrong_guess_left: int
    paired: _devices_pb2.Device
    closed: str
    asks: PairingAsk
    wrong_code_left: int
    def __init__(self, opened: _Optional[_Union[PairingOpened, _Mapping]] = ..., wrong_guess_left: _Optional[int] = ..., paired: _Optional[_Union[_devices_pb2.Device, _Mapping]] = ..., closed: _Optional[str] = ..., asks: _Optional[_Union[PairingAsk, _Mapping]] = ..., wrong_code_left: _Optional[int] = ...) -> None: ...

class PairingAsk(_message.Message):
    __slots__ = ("attempt_id", "name", "device_id", "expires_at")
    ATTEMPT_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DEVICE_ID_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    attempt_id: str
    name: str
    device_id: str
    expires_at: int
    def __init__(self, attempt_id: _Optional[str] = ..., name: _Optional[str] = ..., device_id: _Optional[str] = ..., expires_at: _Optional[int] = ...) -> None: ...

class PairingOpened(_message.Message):
    __slots__ = ("link", "expires_at", "code")
    LINK_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    link: str
    expires_at: int
    code: str
    def __init__(self, link: _Optional[str] = ..., expires_at: _Optional[int] = ..., code: _Optional[str] = ...) -> None: ...

class ListPairedDevicesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListPairedDevicesResponse(_message.Message):
    __slots__ = ("devices",)
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    devices: _containers.RepeatedCompositeFieldContainer[_devices_pb2.Device]
    def __init__(self, devices: _Optional[_Iterable[_Union[_devices_pb2.Device, _Mapping]]] = ...) -> None: ...

class RevokePairedDeviceRequest(_message.Message):
    __slots__ = ("id_prefix",)
    ID_PREFIX_FIELD_NUMBER: _ClassVar[int]
    id_prefix: str
    def __init__(self, id_prefix: _Optional[str] = ...) -> None: ...

class RevokePairedDeviceResponse(_message.Message):
    __slots__ = ("device",)
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    device: _devices_pb2.Device
    def __init__(self, device: _Optional[_Union[_devices_pb2.Device, _Mapping]] = ...) -> None: ...

class StopDaemonRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class StopDaemonResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
