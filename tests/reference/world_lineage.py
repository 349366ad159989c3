"""Write datasets of events with names, schemas and lineage, in all variants of the different listeners."""

from collections.abc import Sequence

from tests.reference.draws import Draw
from tests.reference.world_events import Json, column_lineage, dataset, facet, schema, source, step, symlinks

LAKE, BUCKET, HIVE = "abfss://lake@acct.dfs.core.windows.net", "s3://bucket", "hive://meta:9083"
COLUMNS = ("id", "email", "amount", "a", "a.b", "a.c", "Email", "x.y")
IDENTITY, HASH, FILTER = step("DIRECT"), step("DIRECT", masking=True), step("INDIRECT")
TRANSFORMATIONS: tuple[tuple[Json, ...], ...] = (
    (IDENTITY,),
    (),
    (HASH,),
    (FILTER,),
    (HASH, IDENTITY),
    (step("INDIRECT", masking=True),),
    (FILTER, IDENTITY),
)


class Table:
    """A dataset at a location, with an alias in a catalog."""

    def __init__(self, number: int, draw: Draw) -> None:
        self.name = draw.choice(((LAKE, f"lh/Tables/t{number}"), (BUCKET, f"lh/t{number}")))
        self.alias = (HIVE, f"db.t{number}")
        first = draw.number(0, len(COLUMNS) - 1)
        self.columns = [(COLUMNS * 2)[first + n] for n in range(draw.number(1, 4))]


class Author:
    """Writes the datasets of events."""

    def __init__(self, draw: Draw, tables: list[Table]) -> None:
        self.draw, self.tables = draw, tables

    def new_name(self, table: Table) -> Table:
        """Return the table to which another is renamed: a new or an existing one."""
        if self.draw.chance(30):
            return self.draw.choice(self.tables)
        renamed = Table(len(self.tables), self.draw)
        renamed.columns = table.columns
        self.tables.append(renamed)
        return renamed

    def mentions(self, tables: Sequence[Table]) -> list[Json]:
        return [self.mention(table) for table in tables]

    def mention(self, table: Table, **facets: Json | None) -> Json:
        """Return a dataset by one of its names, with or without schema, symlinks and tags."""
        named, by_alias = self._spelled(table)
        if self.draw.chance(60):
            facets["schema"] = self._collected(schema(self._drifted(table.columns)))
        if self.draw.chance(25):
            bound = self.draw.choice(self.tables) if self.draw.chance(25) else table
            facets["symlinks"] = symlinks(bound.name, kind="LOCATION") if by_alias else symlinks(bound.alias)
        if self.draw.chance(10):
            facets["tags"] = self.tags(table)
        return dataset(named, **facets)

    def written(self, sources: Sequence[Table], target: Table) -> Json:
        """Return an output with the column lineage of some listener, or without any."""
        facets: dict[str, Json | None] = {}
        way = self.draw.number(0, 99)
        if way < 66:
            facets["columnLineage"] = self._column_lineage(sources, target)
        elif way < 72:
            facets["columnLineage"] = column_lineage({})
        elif way < 76:
            facets["columnLineage"] = self.draw.choice((facet(_deleted=True), None))
        elif way < 80:
            facets["lineage"] = facet(**self._lineage(sources, target))
        if self.draw.chance(5):
            facets["lifecycleStateChange"] = facet(lifecycleStateChange=self.draw.choice(("OVERWRITE", "TRUNCATE")))
        return self.mention(target, **facets)

    def lineage_entries(self, sources: Sequence[Table], targets: Sequence[Table]) -> Json:
        entries = [self._lineage(sources, target) | self._entity(target) for target in targets]
        return facet(_deleted=True) if self.draw.chance(10) else facet(entries=entries)

    def tags(self, table: Table) -> Json:
        tag = {"key": self.draw.choice(("pii", "PII")), "value": self.draw.choice(("true", "False")), "source": "USER"}
        field = {} if self.draw.chance(10) else {"field": self._reported(self.draw.choice(table.columns))}
        return facet(_deleted=True) if self.draw.chance(5) else facet(tags=[tag | field])

    def noise(self, table: Table) -> Json:
        tail = self.draw.choice(("_delta_log", "delta_table_state_1", "delta_source_snapshot_2"))
        return dataset((table.name[0], f"{table.name[1]}/{tail}"))

    def spelled_name(self, table: Table) -> str:
        """Return the name as listener 1.53 sends it, or as 1.27 does, with a leading slash."""
        return "/" + table.name[1] if table.name[0] == LAKE and self.draw.chance(20) else table.name[1]

    def _spelled(self, table: Table) -> tuple[tuple[str, str], bool]:
        if self.draw.chance(10):
            return table.alias, True
        return (table.name[0], self.spelled_name(table)), False

    def _column_lineage(self, sources: Sequence[Table], target: Table) -> Json:
        whole = self._whole(sources)
        inputs_of = self._copied if self.draw.chance(30) else lambda _column, tables: self._inputs(tables)
        columns = [column for column in target.columns if not self.draw.chance(15)]
        fields = {self._reported(column): inputs_of(column, sources) for column in columns}
        way = self.draw.number(0, 3)
        if way == 0:
            return column_lineage(fields)
        if way == 1:
            return column_lineage(fields, whole)
        if way == 2:  # before `dataset` existed, each field repeated the inputs of the whole dataset
            return column_lineage({column: [*inputs, *whole] for column, inputs in fields.items()})
        plain = {column: [_without_steps(each) for each in inputs] for column, inputs in fields.items()}
        return column_lineage(plain, transformationType=self.draw.choice(("IDENTITY", "MASKED", "OTHER")))

    def _lineage(self, sources: Sequence[Table], target: Table) -> Json:
        fields = {column: {"inputs": [_typed(each) for each in self._inputs(sources)]} for column in target.columns}
        inputs = [_typed(each) for each in self._whole(sources)] + [self._entity(each) for each in sources[:1]]
        return {"inputs": inputs if self.draw.chance(60) else [], "fields": fields if self.draw.chance(70) else {}}

    def _copied(self, column: str, sources: Sequence[Table]) -> list[Json]:
        """Return the lineage of `SELECT *`: columns with the same name, and structs as a whole."""
        having = [table for table in sources if column in table.columns]
        return [source(self._spelled(table)[0], column, *self.draw.choice(((IDENTITY,), (HASH,)))) for table in having]

    def _inputs(self, sources: Sequence[Table]) -> list[Json]:
        return [self._source(self.draw.choice(sources)) for _ in range(self.draw.choice((1, 0, 2)) if sources else 0)]

    def _whole(self, sources: Sequence[Table]) -> list[Json]:
        tables = [table for table in sources if self.draw.chance(50)]
        return [source(self._spelled(table)[0], self.draw.choice(table.columns), FILTER) for table in tables]

    def _source(self, table: Table) -> Json:
        column = "not_in_schema" if self.draw.chance(5) else self._reported(self.draw.choice(table.columns))
        return source(self._spelled(table)[0], column, *self.draw.choice(TRANSFORMATIONS))

    def _entity(self, table: Table) -> Json:
        return {"namespace": table.name[0], "name": self.spelled_name(table), "type": "DATASET"}

    def _drifted(self, columns: Sequence[str]) -> list[str]:
        """Return the columns after a schema change, or in the spelling of another writer."""
        more = ["added"] if self.draw.chance(10) else []
        return [
            self._case(column) for column in columns[1 if self.draw.chance(10) and len(columns) > 1 else 0 :]
        ] + more

    def _collected(self, told: Json) -> Json:
        """Return a schema whose structs become array elements or map values in one of three cases."""
        way = self.draw.number(0, 5)
        if way > 1:
            return told
        kind, around = ("array", []) if way else ("map", [{"name": "_key", "type": "string"}])
        fields = [
            each | {"type": kind, "fields": [*around, each | {"name": "_value" if around else "_element"}]}
            if "fields" in each
            else each
            for each in told["fields"]
        ]
        return told | {"fields": fields}

    def _reported(self, column: str) -> str:
        """Return a column as lineage and tags name it.

        For nested columns, some listeners include the array or map part.
        """
        around = self.draw.choice((".", ".", ".", ".", "._element.", "._value."))
        return self._case(column.replace(".", around) if column.startswith("a.") else column)

    def _case(self, column: str) -> str:
        return column.upper() if self.draw.chance(6) else column


def _typed(named: Json) -> Json:
    return named | {"type": "DATASET"}


def _without_steps(named: Json) -> Json:
    return {key: value for key, value in named.items() if key != "transformations"}
