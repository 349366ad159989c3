"""Columns as entities, of the tables that the sink itself makes: how a rule calls them, and which telling counts."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pydantic import Field

from headwater.events.event import Content
from headwater.events.rows import Row, content_rows
from headwater.lineage.names.name_patterns import Template, read_template
from headwater.sinks.contract.sink_options import Part
from headwater.sinks.targets.purview.purview_answers import AtlasEntity
from headwater.sinks.targets.purview.purview_types import COLUMN, PLACEHOLDER
from headwater.sinks.targets.purview.purview_wire import Entity, Key, entity_key, is_column, reference, reference_key
from headwater.tables import SCHEMAS

MARK = "openlineage"
"""Custom attribute of what the sink made: of columns, when their schema was told, else nothing but that it did."""
_UNKNOWN = "unknown"
"""Stands for a data type that nobody told: Purview's own columns must have one."""


class ColumnsRule(Part):
    """How columns of a table become entities."""

    type: str = Field(pattern=r"^\w+$", description="Their type.")
    relation: str = Field("table", pattern=r"^\w+$", description="Attribute by which a column refers to its table.")
    qualified_name: str = Field("{qualified_name}#{column}", min_length=1, description="With the holes of the rule.")
    data_type: str = Field("data_type", pattern=r"^\w+$", description="Attribute that holds the data type.")
    description: str = Field("description", pattern=r"^\w+$", description="Attribute that holds the description.")

    def template(self, holes: set[str]) -> Template:
        """Read the qualified name; raises ValueError saying what does not fit."""
        if taken := holes & {"qualified_name", "column"}:
            raise ValueError(f"`columns` gives the hole {min(taken)!r} a meaning of its own; rename yours")
        return read_template(self.qualified_name, holes | {"qualified_name", "column"})


class ColumnNames(NamedTuple):
    """How the columns of one table are called."""

    rule: ColumnsRule
    template: Template
    holes: Mapping[str, str]

    def of(self, column: str) -> str:
        """Return a column's qualified name, where no `#` is its own: table `a#b` and column `b#c` stay apart."""
        escaped = column.replace("%", "%25").replace("#", "%23")
        return self.template.fill({**self.holes, "column": escaped})


def names_of_placeholder(qualified_name: str) -> ColumnNames:
    """Return how the columns of a dataset of no known type are called."""
    return ColumnNames(_OURS, _OURS_TEMPLATE, {"qualified_name": qualified_name})


_OURS = ColumnsRule.model_validate({"type": COLUMN})
_OURS_TEMPLATE = _OURS.template(set())


class ColumnBuilder:
    """Makes entities of the columns of schemas, which recur with every event. Not for several threads at once."""

    def __init__(self) -> None:
        """Know no schema yet."""
        self._schemas: dict[str, Content] = {}
        self._made: dict[tuple[str, str], list[Entity]] = {}

    def learn(self, contents: Iterable[Content]) -> None:
        """Take the schema facets of an event."""
        self._schemas |= {each.content_hash: each for each in contents if each.table == SCHEMAS.name}

    def columns(self, table: Entity, names: ColumnNames, schema: str, time: str) -> list[Entity]:
        """Return the columns of a table by a schema's hash; time: when it was told."""
        key = entity_key(table)[1], schema
        if key not in self._made:
            self._made[key] = _columns(table, names, content_rows(self._schemas[schema]))
        mark = {MARK: time}
        return [{**each, "customAttributes": mark} for each in self._made[key]]


def _columns(table: Entity, names: ColumnNames, rows: Iterable[Row]) -> list[Entity]:
    """Return each column once, nested ones as `columnMapping` names them; none without a name: an entity has one."""
    rule, table_ = names.rule, reference(*entity_key(table))
    found: dict[str, Entity] = {}
    for _, _, path, data_type, text in rows:
        if column := ".".join(path):
            attributes = {
                "name": column,
                "qualifiedName": names.of(column),
                rule.data_type: data_type or _UNKNOWN,
                rule.description: text or "",
            }
            entity = {
                "typeName": rule.type,
                "attributes": attributes,
                "relationshipAttributes": {rule.relation: table_},
            }
            found.setdefault(attributes["qualifiedName"], entity)
    return [*found.values()]


def newest_columns(some: Iterable[Iterable[Entity]]) -> dict[Key, list[Entity]]:
    """Return the columns of each table as they were told last, by the time of the events."""
    found: dict[Key, list[Entity]] = {}
    for entities in some:
        told: dict[Key, list[Entity]] = defaultdict(list)
        for each in filter(is_column, entities):
            (table,) = each["relationshipAttributes"].values()
            told[reference_key(table)].append(each)
        found |= {key: own for key, own in told.items() if key not in found or _time(found[key]) <= _time(own)}
    return found


def difference(
    table: AtlasEntity, there: Sequence[AtlasEntity], told: Sequence[Entity]
) -> tuple[Sequence[Entity], list[str]]:
    """Return which columns to send, and the guids of those to delete; none where a scan, or a newer run, knows better.

    there: the columns that a table has. One of somebody else means that a scan has found the table.
    """
    marks = [(each.custom_attributes or {}).get(MARK) for each in there]
    is_ours = table.type_name == PLACEHOLDER or MARK in (table.custom_attributes or {})
    if not is_ours or None in marks or max((mark or "" for mark in marks), default="") > _time(told):
        return (), []
    known = {each.qualified_name: each for each in there}
    changed = [each for each in told if not _holds(known.get(entity_key(each)[1]), each)]
    own = {entity_key(each)[1] for each in told}
    gone = [each.guid for each in there if each.qualified_name not in own]
    return changed or told[: bool(gone)], gone  # one column at least tells when the newest schema was told


def _holds(there: AtlasEntity | None, told: Entity) -> bool:
    return there is not None and all(
        (there.attributes.get(key) or "") == text for key, text in told["attributes"].items()
    )


def _time(columns: Sequence[Entity]) -> str:
    return str(columns[0]["customAttributes"][MARK])
