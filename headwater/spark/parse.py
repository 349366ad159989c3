"""Bronze rows to parts of runs: what one event says, and the facets that it refers to, as text."""

from collections.abc import Iterator
from dataclasses import dataclass

from pyspark.sql import DataFrame

from headwater.lineage.contents import ContentsInMemory
from headwater.lineage.names import NameRules
from headwater.lineage.naming import bindings_of
from headwater.lineage.part import Part
from headwater.lineage.reading import PartReader
from headwater.spark.arrow import Row, map_rows
from headwater.spark.happened import changes_names, outputs_of
from headwater.spark.texts import CarriedTexts, parts_text
from headwater.tables import ListOf, StructOf, Table

READ = ("event_id", "received_us", "body")
"""All that silver reads of an event: flat, scalar columns; `received_us` is made of `received_at`."""

BINDING = StructOf(
    {"namespace": "string", "name": "string", "to_namespace": "string", "to_name": "string", "time_us": "long"}
)

NAME = StructOf({"namespace": "string", "name": "string"})

PARSED = Table(
    "parsed",
    {
        "run_key": "string",
        "parts": "string",
        "contents": "string",
        "said": "string",
        "bindings": ListOf(BINDING),
        "changes": "boolean",
        "written": ListOf(NAME),
    },
)
"""`parts`: a list of one; `said`: null, as no run has said this before.

`changes`: it says DROP or RENAME; `written`: its outputs.
"""


def parse(events: DataFrame, names: NameRules) -> DataFrame:
    """Read events into `PARSED`."""
    return map_rows(events.select(*READ), Parser(names), PARSED)


@dataclass(frozen=True)
class Parser:
    """Reads the rows of one partition."""

    names: NameRules

    def __call__(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Yield rows of `PARSED`."""
        contents = ContentsInMemory()
        reader, carried = PartReader(self.names.canonical, contents), CarriedTexts(contents)
        for event_id, received_us, body in rows:
            part = reader.read(event_id, received_us, body)
            written = [dict(zip(NAME.fields, name.parts, strict=True)) for name in sorted(outputs_of([part]))]
            said = (parts_text([part]), carried.of(part), None, list(_bindings(part)), changes_names(part), written)
            yield part.run_key, *said


def _bindings(part: Part) -> Iterator[dict[str, object]]:
    for mention in (*part.inputs, *part.outputs):
        for alias, location in bindings_of(mention):
            names = (*alias.parts, *location.parts, part.time_us)
            yield dict(zip(BINDING.fields, names, strict=True))
