"""A running Headwater with keys, to be read only: nothing is in its lake."""

import json
from pathlib import Path

from tests.support.running import Running

READ_KEY, WRITE_KEY = "read-key-1", "write-key-1"
_KEYS = [{"name": "r", "key": READ_KEY, "roles": ["read"]}, {"name": "w", "key": WRITE_KEY, "roles": ["write"]}]


def keyed(folder: Path) -> Running:
    """Start it; what its keys are called is the letter of their role."""
    return Running(folder, environment={"HEADWATER_KEYS": json.dumps(_KEYS)}, cwd=folder.parent)
