"""What this device calls itself when nobody has given it a name."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

from homing_core.labels import clean_label

_ANDROID_PROPERTIES = Path("/system/bin/getprop")
_NAMELESS = frozenset({"", "localhost", "localhost.localdomain", "android"})
_TIMEOUT_S = 2.0


def default_name() -> str:
    """The host name; on Android, where that is always `localhost`, the model of the phone."""
    host = socket.gethostname().partition(".")[0]
    if host.lower() not in _NAMELESS:
        return clean_label(host, fallback="phone")
    return clean_label(_android_model(), fallback="phone")


def _android_model() -> str:
    if not _ANDROID_PROPERTIES.exists():
        return ""
    try:
        found = subprocess.run(  # noqa: S603  # a fixed command
            [_ANDROID_PROPERTIES, "ro.product.model"],
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return found.stdout.decode("utf-8", "replace")
