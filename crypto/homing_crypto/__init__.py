"""Who is who, and who may: device identity, trust store, transport credentials and pairing.

Knows `homing_core` alone. No cryptography of its own: P-256, ECDSA, HPKE and TLS come from the
`cryptography` and `grpc` packages; what is decided here is what is signed, stored and accepted.
"""
