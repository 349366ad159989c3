"""Keeps the columns of tables that the sink made as their newest schema says; what a scan owns is left alone."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256

import msgspec

from headwater.sinks.targets.purview.purview_account import PurviewAccount
from headwater.sinks.targets.purview.purview_answers import AtlasEntity
from headwater.sinks.targets.purview.purview_columns import difference
from headwater.sinks.targets.purview.purview_wire import Entity, Key


class ColumnUpkeep:
    """The columns of one account by one sink. Where it does not answer as it should, NotTaken ends the attempt."""

    def __init__(self, account: PurviewAccount) -> None:
        """Ask nothing yet."""
        self._account = account
        self._told: dict[Key, bytes] = {}
        """Table → what its columns were last; a schema recurs with every run."""

    def forget(self) -> None:
        """Ask anew what is there."""
        self._told.clear()

    def update(self, columns: Mapping[Key, Sequence[Entity]], made: Collection[Key]) -> None:
        """Send the columns that are not there so, then delete those that are gone; made: tables sent with theirs."""
        news = {key: said for key, own in columns.items() if (said := _said(own)) != self._told.get(key)}
        by_type: dict[str, list[str]] = defaultdict(list)
        for kind, name in news.keys() - made:
            by_type[kind].append(name)
        changed: list[Entity] = []
        gone: list[str] = []
        for kind, names in by_type.items():
            for table in self._account.there(kind, sorted(names), related=True):
                own = columns[kind, table.qualified_name]
                sent, left = difference(table, self._there(table, own[0]["typeName"]), own)
                changed += sent
                gone += left
        self._account.post(changed)
        self._account.delete(gone)
        self._told |= news

    def _there(self, table: AtlasEntity, kind: str) -> list[AtlasEntity]:
        sides = (side for side in table.relationship_attributes.values() if isinstance(side, list))
        guids = {one["guid"] for side in sides for one in side if one.get("typeName") == kind}
        return [*self._account.by_guid(sorted(guids))]


def _said(columns: Sequence[Entity]) -> bytes:
    return sha256(msgspec.json.encode([each["attributes"] for each in columns])).digest()
