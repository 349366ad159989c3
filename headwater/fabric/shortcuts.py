"""Which shortcuts show a lake in a Fabric lakehouse.

`Files/headwater` is the whole lake: who reads through it, as the notebooks do, asks the lake which generation of silver
and gold is in force. The tables are for who cannot ask, the SQL endpoint and Power BI: each points into the generation
that was in force when the shortcut was made, which stays readable when another follows.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from headwater.errors import WrongSetting
from headwater.tables import EDGE_SETS, EVENTS, GOLD, SILVER, STATE, Table

LAYERS: Mapping[str, Sequence[Table]] = {"silver": SILVER, "gold": GOLD}

LAKE_NAME = "headwater"

_OWN = (EDGE_SETS, STATE)
"""Tables in which passes keep what only they can read."""

_ABFSS = re.compile(r"abfss://(?P<container>[^@/]+)@(?P<host>[^/]+)(?P<path>/.*)?")


class Shortcut(NamedTuple):
    """A place in a lakehouse, and the folder that it shows; subpath: `/CONTAINER/FOLDER`."""

    path: str
    name: str
    location: str
    subpath: str

    def body(self, connection: str) -> dict[str, Any]:
        """Return what the REST API takes, see `onelake-shortcuts/create-shortcut`; connection: its id in Fabric."""
        target = {"location": self.location, "subpath": self.subpath, "connectionId": connection}
        return {"path": self.path, "name": self.name, "target": {"adlsGen2": target}}


class ShortcutPlace(NamedTuple):
    """A folder in a storage account, as shortcuts name it."""

    location: str
    subpath: str

    def __truediv__(self, folder: str) -> "ShortcutPlace":
        """Return a folder below this one."""
        return ShortcutPlace(self.location, f"{self.subpath}/{folder}")


def place_of(lake: str) -> ShortcutPlace:
    """Return where a lake at `abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH` lies.

    Raises WrongSetting for a lake on this machine.
    """
    found = _ABFSS.fullmatch(lake)
    if not found:
        raise WrongSetting(
            f"A shortcut needs a lake that Fabric can reach, not {lake}. "
            "Set `lake` to abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH."
        )
    return ShortcutPlace(f"https://{found['host']}", f"/{found['container']}{(found['path'] or '').rstrip('/')}")


def shortcuts(lake: ShortcutPlace, generations: Mapping[str, str], schema: str | None) -> Iterator[Shortcut]:
    """Yield the shortcuts of a lake: all of it, bronze events, and the tables of the generations in force.

    generations: by layer; schema: of a lakehouse that has schemas.
    """
    yield Shortcut("Files", LAKE_NAME, *lake)
    tables = f"Tables/{schema}" if schema else "Tables"
    yield Shortcut(tables, f"bronze_{EVENTS.name}", *lake / "bronze" / EVENTS.name)
    for layer, generation in generations.items():
        for table in LAYERS[layer]:
            if table not in _OWN:
                yield Shortcut(tables, f"{layer}_{table.name}", *lake / layer / generation / table.name)
