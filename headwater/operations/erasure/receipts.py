"""Receipts in the lake of what was forgotten, when, by whom and with what proof, without the content itself."""

import getpass
import hashlib
import json
import secrets
import socket
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from headwater.index.snapshots.storage import FORGOTTEN
from headwater.operations.erasure.forget_targets import ForgetTarget
from headwater.operations.local.lake_files import LakeFiles


class Receipt:
    """A file in `lake/forgotten/`, written before anything is erased, and again at the end.

    `asked` is a SHA-256 with its own salt: those who know the request can prove it, others cannot read it.
    """

    def __init__(self, files: LakeFiles, target: ForgetTarget) -> None:
        """Continue an unfinished receipt of the same request, or start a new one."""
        self._files = files
        self.content: dict[str, Any] = next((content for content in _begun(files) if _is_of(content, target)), {})
        self.went_on = bool(self.content)
        if not self.content:
            salt, began = secrets.token_hex(16), datetime.now(UTC)
            asked = _asked(salt, target)
            self.content = {
                "id": f"{began:%Y%m%dT%H%M%SZ}-{asked[:12]}", "state": "begun", "kind": target.kind, "asked": asked,
                "salt": salt, "began": _iso(began), "by": f"{getpass.getuser()}@{socket.gethostname()}",
            }  # fmt: skip

    def begin(self, found: Mapping[str, int]) -> Mapping[str, int]:
        """Record what was found before erasing, including the counts of an interrupted attempt; returns the counts."""
        before: Mapping[str, int] = self.content.get("found", {})
        self.content["found"] = {name: max(count, before.get(name, 0)) for name, count in found.items()}
        self._write()
        noted: Mapping[str, int] = self.content["found"]
        return noted

    def end(self, **proof: Any) -> dict[str, Any]:
        """Record the result of the second search; the request is done if the search had no match."""
        self.content |= proof
        self.content["state"] = "begun" if proof["proof"]["found"] else "done"
        self.content["done"] = _iso(datetime.now(UTC))
        self._write()
        return self.content

    def _write(self) -> None:
        self._files.write(f"{FORGOTTEN}/{self.content['id']}.json", json.dumps(self.content, indent=1).encode())


def _begun(files: LakeFiles) -> list[dict[str, Any]]:
    names = (name for name in files.names(FORGOTTEN) if name.endswith(".json"))
    receipts = [json.loads(files.read(name) or b'{"state":"gone"}') for name in names]
    return [each for each in receipts if each["state"] == "begun"]


def _is_of(content: Mapping[str, Any], target: ForgetTarget) -> bool:
    return bool(content["asked"] == _asked(content["salt"], target))


def _asked(salt: str, target: ForgetTarget) -> str:
    return hashlib.sha256(f"{salt} {target.kind} {target.shown}".encode()).hexdigest()


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")
