"""Create entities for the columns of tables that this sink creates, with their names and the newest schema."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pydantic import Field

from headwater.events.event import Content
from headwater.events.rows import Row, content_rows
from headwater.lineage.names.patterns import Template, read_template
from headwater.sinks.interface.options import ConfigModel
from headwater.sinks.targets.purview.atlas import (
    COLUMN,
    PLACEHOLDER,
    AtlasEntity,
    Entity,
    Key,
    entity_key,
    entity_reference,
    is_column,
    reference_key,
)
from headwater.tables import SCHEMAS

MARK = "openlineage"
"""Custom attribute that marks entities of this sink; for columns, its value is the event time of their schema."""
_UNKNOWN = "unknown"
"""Data type of a column if no event reports one; Purview's own column types require a value."""


class ColumnsRule(ConfigModel):
    """Type, names and attributes of the entities that represent the columns of a table."""

    type: str = Field(pattern=r"^\w+$", description="Type of the entities.")
    relation: str = Field("table", pattern=r"^\w+$", description="Attribute by which a column refers to its table.")
    qualified_name: str = Field(
        "{qualified_name}#{column}", min_length=1, description="Template with the rule's placeholders."
    )
    data_type: str = Field("data_type", pattern=r"^\w+$", description="Attribute for the data type.")
    description: str = Field("description", pattern=r"^\w+$", description="Attribute for the description.")

    def parse_template(self, placeholders: set[str]) -> Template:
        """Read the template of the qualified name; raises ValueError with the problem if it is invalid.

        placeholders: those of the rule, which the template may use.
        """
        if taken := placeholders & {"qualified_name", "column"}:
            raise ValueError(f"the placeholder {min(taken)!r} is reserved in `columns`; rename it in your rule")
        return read_template(self.qualified_name, placeholders | {"qualified_name", "column"})


class ColumnNames(NamedTuple):
    """Names the columns of one table. placeholders: the value of each placeholder of the template."""

    rule: ColumnsRule
    template: Template
    placeholders: Mapping[str, str]

    def qualified_name(self, column: str) -> str:
        """Return a column's qualified name; `#` is escaped, so that table `a#b` and column `b#c` stay distinct."""
        escaped = column.replace("%", "%25").replace("#", "%23")
        return self.template.fill({**self.placeholders, "column": escaped})


def names_of_placeholder(qualified_name: str) -> ColumnNames:
    """Return the names of columns for a placeholder dataset with this qualified name."""
    return ColumnNames(_OURS, _OURS_TEMPLATE, {"qualified_name": qualified_name})


_OURS = ColumnsRule.model_validate({"type": COLUMN})
_OURS_TEMPLATE = _OURS.parse_template(set())


class ColumnBuilder:
    """Create column entities from schemas and cache them, since schemas recur with every event. Not thread-safe."""

    def __init__(self) -> None:
        self._schemas: dict[str, Content] = {}
        self._made: dict[tuple[str, str], list[Entity]] = {}

    def add_schemas(self, contents: Iterable[Content]) -> None:
        """Store the schema facets of an event by content hash."""
        self._schemas |= {each.content_hash: each for each in contents if each.table == SCHEMAS.name}

    def columns_of_table(self, table: Entity, names: ColumnNames, schema: str, time: str) -> list[Entity]:
        """Return the column entities of a table. schema: content hash of the schema. time: its event time (ISO)."""
        key = entity_key(table)[1], schema
        if key not in self._made:
            self._made[key] = _column_entities(table, names, content_rows(self._schemas[schema]))
        mark = {MARK: time}
        return [{**each, "customAttributes": mark} for each in self._made[key]]


def _column_entities(table: Entity, names: ColumnNames, rows: Iterable[Row]) -> list[Entity]:
    """Return one entity per named column; nested columns have dotted names, as in `columnMapping`."""
    rule, table_ = names.rule, entity_reference(*entity_key(table))
    found: dict[str, Entity] = {}
    for _, _, path, data_type, text in rows:
        if column := ".".join(path):
            attributes = {
                "name": column,
                "qualifiedName": names.qualified_name(column),
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
    """Return the columns of each table from the entities with the newest event time."""
    found: dict[Key, list[Entity]] = {}
    for entities in some:
        columns: dict[Key, list[Entity]] = defaultdict(list)
        for each in filter(is_column, entities):
            (table,) = each["relationshipAttributes"].values()
            columns[reference_key(table)].append(each)
        found |= {
            key: own for key, own in columns.items() if key not in found or _event_time(found[key]) <= _event_time(own)
        }
    return found


def column_changes(
    table: AtlasEntity, existing: Sequence[AtlasEntity], wanted: Sequence[Entity]
) -> tuple[Sequence[Entity], list[str]]:
    """Return the columns to send and the guids of columns to delete.

    Both are empty if a scan has found the table, or its columns come from a newer event.

    existing: the table's columns in the account; a column without MARK shows that a scan has found the table.
    """
    marks = [(each.custom_attributes or {}).get(MARK) for each in existing]
    is_ours = table.type_name == PLACEHOLDER or MARK in (table.custom_attributes or {})
    if not is_ours or None in marks or max((mark or "" for mark in marks), default="") > _event_time(wanted):
        return (), []
    known = {each.qualified_name: each for each in existing}
    changed = [each for each in wanted if not _is_current(known.get(entity_key(each)[1]), each)]
    own = {entity_key(each)[1] for each in wanted}
    removed = [each.guid for each in existing if each.qualified_name not in own]
    return changed or wanted[: bool(removed)], removed  # send at least one column, whose mark stores the schema's time


def _is_current(existing: AtlasEntity | None, wanted: Entity) -> bool:
    return existing is not None and all(
        (existing.attributes.get(key) or "") == text for key, text in wanted["attributes"].items()
    )


def _event_time(columns: Sequence[Entity]) -> str:
    return str(columns[0]["customAttributes"][MARK])
