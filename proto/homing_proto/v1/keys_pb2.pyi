from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class KeyProtection(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    KEY_PROTECTION_UNSPECIFIED: _ClassVar[KeyProtection]
    KEY_PROTECTION_FILE: _ClassVar[KeyProtection]
    KEY_PROTECTION_PASSPHRASE: _ClassVar[KeyProtection]
    KEY_PROTECTION_KEYRING: _ClassVar[KeyProtection]
KEY_PROTECTION_UNSPECIFIED: KeyProtection
KEY_PROTECTION_FILE: KeyProtection
KEY_PROTECTION_PASSPHRASE: KeyProtection
KEY_PROTECTION_KEYRING: KeyProtection

class KeyChange(_message.Message):
    __slots__ = ("certificate_der", "hpke_public_key", "hpke_signature", "old_signature", "new_signature")
    CERTIFICATE_DER_FIELD_NUMBER: _ClassVar[int]
    HPKE_PUBLIC_KEY_FIELD_NUMBER: _ClassVar[int]
    HPKE_SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    OLD_SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    NEW_SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    certificate_der: bytes
    hpke_public_key: bytes
    hpke_signature: bytes
    old_signature: bytes
    new_signature: bytes
    def __init__(self, certificate_der: _Optional[bytes] = ..., hpke_public_key: _Optional[bytes] = ..., hpke_signature: _Optional[bytes] = ..., old_signature: _Optional[bytes] = ..., new_signature: _Optional[bytes] = ...) -> None: ...

class RotateKeyRequest(_message.Message):
    __slots__ = ("change",)
    CHANGE_FIELD_NUMBER: _ClassVar[int]
    change: KeyChange
    def __init__(self, change: _Optional[_Union[KeyChange, _Mapping]] = ...) -> None: ...

class RotateKeyResponse(_message.Message):
    __slots__ = ("old_key_until",)
    OLD_KEY_UNTIL_FIELD_NUMBER: _ClassVar[int]
    old_key_until: int
    def __init__(self, old_key_until: _Optional[int] = ...) -> None: ...

class FinishRotationRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class FinishRotationResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetSuccessorRequest(_message.Message):
    __slots__ = ("known_id",)
    KNOWN_ID_FIELD_NUMBER: _ClassVar[int]
    known_id: str
    def __init__(self, known_id: _Optional[str] = ...) -> None: ...

class GetSuccessorResponse(_message.Message):
    __slots__ = ("change",)
    CHANGE_FIELD_NUMBER: _ClassVar[int]
    change: KeyChange
    def __init__(self, change: _Optional[_Union[KeyChange, _Mapping]] = ...) -> None: ...

class OwnKey(_message.Message):
    __slots__ = ("device_id", "created_at", "replaced_at", "ends_at")
    DEVICE_ID_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    REPLACED_AT_FIELD_NUMBER: _ClassVar[int]
    ENDS_AT_FIELD_NUMBER: _ClassVar[int]
    device_id: str
    created_at: int
    replaced_at: int
    ends_at: int
    def __init__(self, device_id: _Optional[str] = ..., created_at: _Optional[int] = ..., replaced_at: _Optional[int] = ..., ends_at: _Optional[int] = ...) -> None: ...

class ListNodeKeysRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListNodeKeysResponse(_message.Message):
    __slots__ = ("keys", "protection")
    KEYS_FIELD_NUMBER: _ClassVar[int]
    PROTECTION_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedCompositeFieldContainer[OwnKey]
    protection: KeyProtection
    def __init__(self, keys: _Optional[_Iterable[_Union[OwnKey, _Mapping]]] = ..., protection: _Optional[_Union[KeyProtection, str]] = ...) -> None: ...

class RotateNodeKeyRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RotateNodeKeyResponse(_message.Message):
    __slots__ = ("keys",)
    KEYS_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedCompositeFieldContainer[OwnKey]
    def __init__(self, keys: _Optional[_Iterable[_Union[OwnKey, _Mapping]]] = ...) -> None: ...

class ListPhoneKeysRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class NodeKnows(_message.Message):
    __slots__ = ("node_id", "name", "known_as", "problem")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    KNOWN_AS_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    name: str
    known_as: str
    problem: str
    def __init__(self, node_id: _Optional[str] = ..., name: _Optional[str] = ..., known_as: _Optional[str] = ..., problem: _Optional[str] = ...) -> None: ...

class ListPhoneKeysResponse(_message.Message):
    __slots__ = ("keys", "nodes", "protection")
    KEYS_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    PROTECTION_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedCompositeFieldContainer[OwnKey]
    nodes: _containers.RepeatedCompositeFieldContainer[NodeKnows]
    protection: KeyProtection
    def __init__(self, keys: _Optional[_Iterable[_Union[OwnKey, _Mapping]]] = ..., nodes: _Optional[_Iterable[_Union[NodeKnows, _Mapping]]] = ..., protection: _Optional[_Union[KeyProtection, str]] = ...) -> None: ...

class RotatePhoneKeyRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RotatePhoneKeyResponse(_message.Message):
    __slots__ = ("keys", "nodes")
    KEYS_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedCompositeFieldContainer[OwnKey]
    nodes: _containers.RepeatedCompositeFieldContainer[NodeKnows]
    def __init__(self, keys: _Optional[_Iterable[_Union[OwnKey, _Mapping]]] = ..., nodes: _Optional[_Iterable[_Union[NodeKnows, _Mapping]]] = ...) -> None: ...

class ForgetNodeRequest(_message.Message):
    __slots__ = ("node",)
    NODE_FIELD_NUMBER: _ClassVar[int]
    node: str
    def __init__(self, node: _Optional[str] = ...) -> None: ...

class ForgetNodeResponse(_message.Message):
    __slots__ = ("node_id", "name")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    name: str
    def __init__(self, node_id: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...
