"""`python -m homing_client` is `homing`."""

import sys

from homing_client.cli import run

sys.exit(run())
