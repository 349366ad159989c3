"""A running Headwater with API keys and an empty lake, for tests that only read."""

import json
from pathlib import Path

from tests.support.running import Running

READ_KEY, WRITE_KEY = "read-key-1", "write-key-1"
_KEYS = [{"name": "r", "key": READ_KEY, "roles": ["read"]}, {"name": "w", "key": WRITE_KEY, "roles": ["write"]}]


def keyed(folder: Path) -> Running:
    """Start Headwater. Each key's name is the letter of its role."""
    return Running(folder, environment={"HEADWATER_KEYS": json.dumps(_KEYS)}, cwd=folder.parent)
