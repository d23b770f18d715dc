"""TLS on both ends of gRPC, and who the caller is.

TLS is the first of two layers: it lets in whoever holds a key of the roots bundle. The second, on
every call, is `homing_crypto.guard`; it alone decides, because connections outlive the bundle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, cast

import grpc
import structlog
from homing_core.errors import InvalidDataError, UnpairedError

from homing_crypto.certificates import CheckedCertificate, check_pem_certificate
from homing_crypto.transport import CLIENT_OPTIONS, Options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from homing_core.ids import DeviceId

    from homing_crypto.identity import DeviceIdentity

    AuthContext: TypeAlias = Mapping[str, Iterable[bytes]]

_log = structlog.get_logger(__name__)


def server_credentials(
    identity: DeviceIdentity | Callable[[], Iterable[DeviceIdentity]],
    bundle: Callable[[], bytes],
) -> grpc.ServerCredentials:
    """Mutual TLS for a node's main port; a client certificate is required.

    Args:
        identity: the node's own; or what gives all that it has, the present one first, asked at
            every handshake. Of several, gRPC shows the one whose id the client asks for (SNI).
        bundle: the certificates to let in (PEM): `TrustStore.roots_pem` without whoever is shut
            out (`homing_crypto.guard.ShutOut`), stored or not. It is asked at every
            handshake, on a thread of gRPC's, so pairing and revocation need no restart. If it
            raises, nobody gets in: left to itself, gRPC would go on with the previous bundle.
    """

    def pairs() -> tuple[tuple[bytes, bytes], ...]:
        identities = identity() if callable(identity) else (identity,)
        return tuple((one.private_key_pem, one.certificate.pem) for one in identities)

    first: _Shown = (pairs(), b"")
    shown: list[_Shown] = [first]

    def wanted() -> _Shown:
        try:
            return pairs(), bundle()
        except Exception as error:  # noqa: BLE001  # whatever it was, nobody gets in
            _log.error("tls.no_bundle", error_type=type(error).__name__)
            return shown[0][0], b""

    def fetch() -> grpc.ServerCertificateConfiguration | None:
        # None leaves everything as it is. Whatever else is returned makes gRPC free what another
        # thread's handshake may be about to use (tried with 1.85: a few hundred greetings a second
        # ended the process), so it is returned only where something has changed.
        now = wanted()
        if now == shown[0]:
            return None
        made = _configuration(now)
        shown[0] = now  # only once it is made: a failure must not pass for a change that was shown
        return made

    return grpc.dynamic_ssl_server_credentials(
        # The stubs do not know of None, gRPC's documentation does.
        _configuration(first),
        cast("Callable[[], grpc.ServerCertificateConfiguration]", fetch),
        require_client_authentication=True,
    )


_Shown: TypeAlias = "tuple[tuple[tuple[bytes, bytes], ...], bytes]"
"""Pairs of private key and certificate, and the bundle; all PEM."""


def _configuration(shown: _Shown) -> grpc.ServerCertificateConfiguration:
    pairs, roots = shown
    return grpc.ssl_server_certificate_configuration(list(pairs), root_certificates=roots)


def pairing_server_credentials(identity: DeviceIdentity) -> grpc.ServerCredentials:
    """TLS for the pairing server: the node's own certificate, and any client at all.

    What the client is, it proves within the pairing (see `homing_crypto.pairing`).
    """
    return grpc.ssl_server_credentials([(identity.private_key_pem, identity.certificate.pem)])


def client_channel(
    target: str, identity: DeviceIdentity, node: CheckedCertificate, options: Options = ()
) -> grpc.aio.Channel:
    """A channel to one node and no other: its certificate is the only root.

    Args:
        target: where to dial, `host:port` or `unix:PATH`; of no meaning for trust.
        identity: this device's own.
        node: the node's certificate, from the pairing.
        options: more gRPC channel arguments; they override `CLIENT_OPTIONS`.
    """
    credentials = grpc.ssl_channel_credentials(
        node.pem, identity.private_key_pem, identity.certificate.pem
    )
    return _channel(target, credentials, node, options)


def pairing_channel(
    target: str, node: CheckedCertificate, options: Options = ()
) -> grpc.aio.Channel:
    """A channel to the pairing server that holds exactly this certificate.

    Args:
        target: where to dial, `host:port`.
        node: what `homing_crypto.pairing.pinned.fetch_certificate` returned.
        options: more gRPC channel arguments; they override `CLIENT_OPTIONS`.
    """
    return _channel(target, grpc.ssl_channel_credentials(node.pem), node, options)


def caller_device_id(auth_context: AuthContext) -> DeviceId:
    """Who is calling, from the certificate that TLS saw.

    The certificate is read strictly: one that another device minted passes TLS, but not here.

    Args:
        auth_context: `grpc.aio.ServicerContext.auth_context()`.

    Raises:
        UnpairedError: there is no certificate, or it is not a device's own.
    """
    certificates = list(auth_context.get("x509_pem_cert", ()))
    if len(certificates) != 1:
        msg = "this call carries no device certificate"
        raise UnpairedError(msg, "Pair this device with the node.")
    try:
        return check_pem_certificate(certificates[0]).device_id
    except InvalidDataError as error:
        msg = "this call's certificate is not a device's own"
        raise UnpairedError(msg, "Pair this device with the node.") from error


def _channel(
    target: str,
    credentials: grpc.ChannelCredentials,
    node: CheckedCertificate,
    options: Options,
) -> grpc.aio.Channel:
    merged = dict(CLIENT_OPTIONS) | dict(options)
    merged["grpc.ssl_target_name_override"] = node.tls_name
    return grpc.aio.secure_channel(target, credentials, options=list(merged.items()))
