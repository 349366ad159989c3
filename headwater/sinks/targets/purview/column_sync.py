"""Update the columns of tables that this sink created to the newest schema; columns of scans stay unchanged."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256

import msgspec

from headwater.sinks.targets.purview.account import PurviewAccount
from headwater.sinks.targets.purview.answers import AtlasEntity
from headwater.sinks.targets.purview.columns import column_changes
from headwater.sinks.targets.purview.wire import Entity, Key


class ColumnSync:
    """The columns of one account; RequestFailed ends the attempt if a response is not as expected."""

    def __init__(self, account: PurviewAccount) -> None:
        self._account = account
        self._sent: dict[Key, bytes] = {}
        """Table to the hash of the columns sent last; a schema recurs with every run."""

    def forget(self) -> None:
        """Clear the cache."""
        self._sent.clear()

    def update(self, columns: Mapping[Key, Sequence[Entity]], made: Collection[Key]) -> None:
        """Send the columns that differ, then delete removed ones; made: tables just created with their columns."""
        news = {key: digest for key, own in columns.items() if (digest := _digest(own)) != self._sent.get(key)}
        by_type: dict[str, list[str]] = defaultdict(list)
        for kind, name in news.keys() - made:
            by_type[kind].append(name)
        changed: list[Entity] = []
        removed: list[str] = []
        for kind, names in by_type.items():
            for table in self._account.existing(kind, sorted(names), related=True):
                own = columns[kind, table.qualified_name]
                sent, left = column_changes(table, self._there(table, own[0]["typeName"]), own)
                changed += sent
                removed += left
        self._account.post(changed)
        self._account.delete(removed)
        self._sent |= news

    def _there(self, table: AtlasEntity, kind: str) -> list[AtlasEntity]:
        sides = (side for side in table.relationship_attributes.values() if isinstance(side, list))
        guids = {one["guid"] for side in sides for one in side if one.get("typeName") == kind}
        return [*self._account.by_guid(sorted(guids))]


def _digest(columns: Sequence[Entity]) -> bytes:
    return sha256(msgspec.json.encode([each["attributes"] for each in columns])).digest()
