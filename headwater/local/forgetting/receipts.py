"""What was forgotten when, by whom and with what proof, kept in the lake without saying what it was."""

import getpass
import hashlib
import json
import secrets
import socket
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from headwater.index.snapshots.snapshot_shelf import FORGOTTEN
from headwater.local.forgetting.wanted import Wanted
from headwater.local.lake_files import LakeFiles


class Receipt:
    """One file below `lake/forgotten/`; written before anything is erased, and again when all is.

    `asked` is a SHA-256 with a salt of its own: who knows what was asked can prove it, nobody else reads it.
    """

    def __init__(self, files: LakeFiles, wanted: Wanted) -> None:
        """Go on with one that was begun for the same and not done, else make another."""
        self._files = files
        self.said: dict[str, Any] = next((said for said in _begun(files) if _is_of(said, wanted)), {})
        self.went_on = bool(self.said)
        if not self.said:
            salt, began = secrets.token_hex(16), datetime.now(UTC)
            asked = _asked(salt, wanted)
            self.said = {
                "id": f"{began:%Y%m%dT%H%M%SZ}-{asked[:12]}", "state": "begun", "kind": wanted.kind, "asked": asked,
                "salt": salt, "began": _iso(began), "by": f"{getpass.getuser()}@{socket.gethostname()}",
            }  # fmt: skip

    def begin(self, found: Mapping[str, int]) -> Mapping[str, int]:
        """Note what is there, before it goes; of an attempt before, what that one saw. Returns what was noted."""
        before: Mapping[str, int] = self.said.get("found", {})
        self.said["found"] = {name: max(count, before.get(name, 0)) for name, count in found.items()}
        self._write()
        noted: Mapping[str, int] = self.said["found"]
        return noted

    def end(self, **proof: Any) -> dict[str, Any]:
        """Note what the search afterwards found; it is done if that was nothing."""
        self.said |= proof
        self.said["state"] = "begun" if proof["proof"]["found"] else "done"
        self.said["done"] = _iso(datetime.now(UTC))
        self._write()
        return self.said

    def _write(self) -> None:
        self._files.write(f"{FORGOTTEN}/{self.said['id']}.json", json.dumps(self.said, indent=1).encode())


def _begun(files: LakeFiles) -> list[dict[str, Any]]:
    names = (name for name in files.names(FORGOTTEN) if name.endswith(".json"))
    receipts = [json.loads(files.read(name) or b'{"state":"gone"}') for name in names]
    return [each for each in receipts if each["state"] == "begun"]


def _is_of(said: Mapping[str, Any], wanted: Wanted) -> bool:
    return bool(said["asked"] == _asked(said["salt"], wanted))


def _asked(salt: str, wanted: Wanted) -> str:
    return hashlib.sha256(f"{salt} {wanted.kind} {wanted.shown}".encode()).hexdigest()


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")
