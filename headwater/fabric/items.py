"""The items of a folder in Fabric's git format, as its REST API takes them into one workspace."""

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from headwater.errors import WrongSetting

PLATFORM = ".platform"
LAKEHOUSE, ENVIRONMENT, NOTEBOOK, PIPELINE = "Lakehouse", "Environment", "Notebook", "DataPipeline"
ORDER = (LAKEHOUSE, ENVIRONMENT, NOTEBOOK, PIPELINE)
"""An item refers to those before it."""

_HERE = "00000000-0000-0000-0000-000000000000"
_VARIABLE = "$ENV:"
_ENVIRONMENT = "fabric"
_BINARY = (".whl", ".jar")
_MADE_ELSEWHERE = ("shortcuts.metadata.json", "lakehouse.metadata.json")
_MARK = re.compile(r" \[headwater [0-9a-f]{16}\]$")
_LONGEST = 256


class Item(NamedTuple):
    """One item; parts: bytes by path, such as `notebook-content.py`; logical: the id that other items' parts have."""

    kind: str
    name: str
    description: str
    logical: str
    parts: Mapping[str, bytes]

    @property
    def title(self) -> str:
        """Return its name and kind, as its folder is called."""
        return f"{self.name}.{self.kind}"

    def filled(self, values: Mapping[str, str]) -> "Item":
        """Return it with texts of its parts replaced, in one pass: what takes a place is not looked at again."""
        return self._replace(parts={path: _filled(path, part, values) for path, part in self.parts.items()})

    def definition(self) -> dict[str, Any]:
        """Return what the REST API calls an item definition."""
        return {
            "parts": [
                {"path": path, "payload": base64.b64encode(part).decode(), "payloadType": "InlineBase64"}
                for path, part in self.parts.items()
            ]
        }

    def mark(self) -> str:
        """Return its description with a mark of its parts: who reads it knows what was put there last, and whole."""
        digest = hashlib.sha256()
        for path, part in sorted(self.parts.items()):
            digest.update(f"{path}\0{len(part)}\0".encode() + part)
        mark = f" [headwater {digest.hexdigest()[:16]}]"
        return self.description[: _LONGEST - len(mark)] + mark


def is_ours(description: str | None) -> bool:
    """Tell whether a description has a mark: we have put the item there."""
    return bool(_MARK.search(description or ""))


def read_items(folder: Path) -> list[Item]:
    """Return the items of a folder, those that others refer to first. Raises WrongSetting where it has none."""
    found = [_read(path.parent) for path in sorted(folder.glob(f"*/{PLATFORM}"))]
    if not found:
        raise WrongSetting(f"{folder} holds no items of Fabric. Run `make fabric`, which makes dist/fabric.")
    environment = next((item for item in found if item.kind == ENVIRONMENT), None)
    if environment is None or not any(path.endswith(".whl") for path in environment.parts):
        raise WrongSetting(f"The environment in {folder} has no wheel. Run `make fabric`, which puts it there.")
    return sorted(found, key=lambda item: ORDER.index(item.kind))


def placeholders(folder: Path) -> dict[str, str]:
    """Return which variable takes the place of which text, as `parameter.yml` says it to fabric-cicd, too."""
    told = yaml.safe_load((folder / "parameter.yml").read_text())["find_replace"]
    return {each["find_value"]: each["replace_value"][_ENVIRONMENT].removeprefix(_VARIABLE) for each in told}


def here(workspace: str) -> dict[str, str]:
    """Return how items name the workspace that they are in, and what it is."""
    return {_HERE: workspace}


def _read(folder: Path) -> Item:
    told = json.loads((folder / PLATFORM).read_text())
    metadata = told["metadata"]
    return Item(
        metadata["type"],
        metadata["displayName"],
        metadata.get("description", ""),
        told["config"]["logicalId"],
        dict(_parts(folder)),
    )


def _parts(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != PLATFORM and path.name not in _MADE_ELSEWHERE:
            yield path.relative_to(folder).as_posix(), path.read_bytes()


def _filled(path: str, part: bytes, values: Mapping[str, str]) -> bytes:
    if path.endswith(_BINARY):
        return part
    wanted = "|".join(map(re.escape, sorted(values, key=len, reverse=True)))
    return re.sub(wanted, lambda found: values[found[0]], part.decode()).encode() if wanted else part
