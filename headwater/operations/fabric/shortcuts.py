"""Shortcuts that show a lake in a Fabric lakehouse.

`Files/headwater` is the whole lake: notebooks read through it and look up the current generation of silver and gold.
The table shortcuts are for the SQL endpoint and Power BI, which cannot look up a generation: each points to the one
that was current when the shortcut was created, and that generation stays readable when another replaces it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from headwater.common.errors import WrongSetting
from headwater.tables import EDGE_SETS, EVENTS, GOLD, SILVER, STATE, Table

LAYERS: Mapping[str, Sequence[Table]] = {"silver": SILVER, "gold": GOLD}

LAKE_NAME = "headwater"

_OWN = (EDGE_SETS, STATE)
"""Internal tables without shortcuts: only the Spark passes can interpret them."""

_ABFSS = re.compile(r"abfss://(?P<container>[^@/]+)@(?P<host>[^/]+)(?P<path>/.*)?")


class Shortcut(NamedTuple):
    """A shortcut in a lakehouse, and the storage folder that it shows.

    path, name: folder and name of the shortcut in the lakehouse. location: URL of the storage account. subpath:
    `/CONTAINER/FOLDER` of the storage folder.
    """

    path: str
    name: str
    location: str
    subpath: str

    def body(self, connection: str) -> dict[str, Any]:
        """Return the body for `onelake-shortcuts/create-shortcut`. connection: id of the connection to the storage."""
        target = {"location": self.location, "subpath": self.subpath, "connectionId": connection}
        return {"path": self.path, "name": self.name, "target": {"adlsGen2": target}}


class ShortcutPlace(NamedTuple):
    """A folder in a storage account. location: URL of the account; subpath: `/CONTAINER/FOLDER`."""

    location: str
    subpath: str

    def __truediv__(self, folder: str) -> "ShortcutPlace":
        """Return a subfolder."""
        return ShortcutPlace(self.location, f"{self.subpath}/{folder}")


def parse_lake_address(lake: str) -> ShortcutPlace:
    """Return the place of a lake at `abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH`.

    Raises WrongSetting for a lake on this machine.
    """
    found = _ABFSS.fullmatch(lake)
    if not found:
        raise WrongSetting(
            f"Fabric cannot reach the lake {lake}, so it cannot have shortcuts. "
            "Set `lake` to abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH."
        )
    return ShortcutPlace(f"https://{found['host']}", f"/{found['container']}{(found['path'] or '').rstrip('/')}")


def lake_shortcuts(lake: ShortcutPlace, generations: Mapping[str, str], schema: str | None) -> Iterator[Shortcut]:
    """Yield the shortcuts of a lake: the whole lake, bronze events, and the tables of the current generations.

    generations: name of the current generation by layer. schema: schema for the table shortcuts, None if the lakehouse
    has no schemas.
    """
    yield Shortcut("Files", LAKE_NAME, *lake)
    tables = f"Tables/{schema}" if schema else "Tables"
    yield Shortcut(tables, f"bronze_{EVENTS.name}", *lake / "bronze" / EVENTS.name)
    for layer, generation in generations.items():
        for table in LAYERS[layer]:
            if table not in _OWN:
                yield Shortcut(tables, f"{layer}_{table.name}", *lake / layer / generation / table.name)
