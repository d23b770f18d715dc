"""How files of keys are protected on disk: by their mode, a passphrase, or the system's keyring.

    base        the boundary, and the plainest way
    envelope    the form of a protected file; says itself how it is opened
    passphrase  Argon2id over a passphrase
    keyring     a random key that the system's keyring keeps
    directory   opens whatever a data directory holds, and writes in the same way
    files       which files are keys, and changing how they are protected

Against what each way helps, and against what not, is in docs/keys.md.
"""

from homing_crypto.vault.base import FileMode, KeyVault, Protection

__all__ = ["FileMode", "KeyVault", "Protection"]
