"""Read Fabric items in git format from a folder, and encode them for Fabric's REST API."""

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from headwater.common.errors import WrongSetting

PLATFORM = ".platform"
LAKEHOUSE, ENVIRONMENT, NOTEBOOK, PIPELINE = "Lakehouse", "Environment", "Notebook", "DataPipeline"
ORDER = (LAKEHOUSE, ENVIRONMENT, NOTEBOOK, PIPELINE)
"""Kinds of items in the order of deployment. An item may refer only to items of earlier kinds."""

_OWN_WORKSPACE = "00000000-0000-0000-0000-000000000000"
_VARIABLE = "$ENV:"
_ENVIRONMENT = "fabric"
_BINARY = (".whl", ".jar")
_SEPARATE_PARTS = ("shortcuts.metadata.json", "lakehouse.metadata.json")
_MARK = re.compile(r" \[headwater [0-9a-f]{16}\]$")
_LONGEST = 256


class FabricItem(NamedTuple):
    """A Fabric item.

    logical: id with which other items refer to this item. parts: content of each file by path, such as
    `notebook-content.py`.
    """

    kind: str
    name: str
    description: str
    logical: str
    parts: Mapping[str, bytes]

    @property
    def title(self) -> str:
        """Return `NAME.KIND`, which is also the name of the item's folder."""
        return f"{self.name}.{self.kind}"

    def with_values(self, values: Mapping[str, str]) -> "FabricItem":
        """Return the item with its placeholders replaced. values: replacement by placeholder.

        All placeholders are replaced in one pass, so that a placeholder inside a replacement stays unchanged.
        """
        return self._replace(parts={path: _replace_values(path, part, values) for path, part in self.parts.items()})

    def definition(self) -> dict[str, Any]:
        """Return the item definition for the REST API."""
        return {
            "parts": [
                {"path": path, "payload": base64.b64encode(part).decode(), "payloadType": "InlineBase64"}
                for path, part in self.parts.items()
            ]
        }

    def description_with_hash(self) -> str:
        """Return the description with a hash of the parts. A later check compares it with the deployed item."""
        digest = hashlib.sha256()
        for path, part in sorted(self.parts.items()):
            digest.update(f"{path}\0{len(part)}\0".encode() + part)
        mark = f" [headwater {digest.hexdigest()[:16]}]"
        return self.description[: _LONGEST - len(mark)] + mark


def is_deployed_by_headwater(description: str | None) -> bool:
    """Return whether the description of an item has a hash from `description_with_hash`."""
    return bool(_MARK.search(description or ""))


def read_items(folder: Path) -> list[FabricItem]:
    """Return the items of a folder in the order of dependencies.

    Raises WrongSetting if there are no items, or if the environment has no wheel.
    """
    found = [_read_item(path.parent) for path in sorted(folder.glob(f"*/{PLATFORM}"))]
    if not found:
        raise WrongSetting(f"{folder} contains no Fabric items. Run `make fabric`, which creates dist/fabric.")
    environment = next((item for item in found if item.kind == ENVIRONMENT), None)
    if environment is None or not any(path.endswith(".whl") for path in environment.parts):
        raise WrongSetting(f"The environment in {folder} has no wheel. Run `make fabric`, which adds it.")
    return sorted(found, key=lambda item: ORDER.index(item.kind))


def placeholders(folder: Path) -> dict[str, str]:
    """Return the variable of each placeholder in `parameter.yml`, by placeholder. fabric-cicd reads the same file."""
    rules = yaml.safe_load((folder / "parameter.yml").read_text())["find_replace"]
    return {each["find_value"]: each["replace_value"][_ENVIRONMENT].removeprefix(_VARIABLE) for each in rules}


def workspace_placeholder(workspace: str) -> dict[str, str]:
    """Return a mapping from the placeholder of an item's own workspace to the id of this workspace."""
    return {_OWN_WORKSPACE: workspace}


def _read_item(folder: Path) -> FabricItem:
    platform = json.loads((folder / PLATFORM).read_text())
    metadata = platform["metadata"]
    return FabricItem(
        metadata["type"],
        metadata["displayName"],
        metadata.get("description", ""),
        platform["config"]["logicalId"],
        dict(_item_parts(folder)),
    )


def _item_parts(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != PLATFORM and path.name not in _SEPARATE_PARTS:
            yield path.relative_to(folder).as_posix(), path.read_bytes()


def _replace_values(path: str, part: bytes, values: Mapping[str, str]) -> bytes:
    if path.endswith(_BINARY):
        return part
    wanted = "|".join(map(re.escape, sorted(values, key=len, reverse=True)))
    return re.sub(wanted, lambda found: values[found[0]], part.decode()).encode() if wanted else part
