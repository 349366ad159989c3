"""Bronze rows to parts of runs: what one event says, as text, and references to what its facets say.

An event names its shape, which says all that recurs; of rows of versions that kept no shape the body is read.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.events.stored import SENT, sent_of, shape_of
from headwater.lineage.contents import ContentsInMemory
from headwater.lineage.names import NameRules
from headwater.lineage.naming import bindings_of
from headwater.lineage.newest import order_text
from headwater.lineage.part import Part
from headwater.lineage.reading import PartReader
from headwater.spark.arrow import Row, map_rows
from headwater.spark.contents import TextContents, refs_of
from headwater.spark.delta import Folder
from headwater.spark.happened import changes_names, outputs_of
from headwater.spark.shapes import Shapes
from headwater.spark.texts import parts_text, text_of
from headwater.tables import ListOf, StructOf, Table

READ = ("event_id", "received_us", *SENT.values())
"""All that silver reads of an event that has a shape; times in us."""

BODY = ("event_id", "received_us", "body")
"""All that it reads of others."""

BINDING = StructOf(
    {"namespace": "string", "name": "string", "to_namespace": "string", "to_name": "string", "time_us": "long"}
)

PARSED = Table(
    "parsed",
    {
        "run_key": "string",
        "parts": "string",
        "contents": "string",
        "said": "string",
        "bindings": ListOf(BINDING),
        "changes": "boolean",
        "written": "string",
        "event_id": "string",
        "shape": "string",
        "event_kind": "string",
        "job_namespace": "string",
        "job_name": "string",
        "time_us": "long",
        "event_order": "string",
        "cut": "boolean",
    },
)
"""`parts`: a list of one; `contents`: what it refers to; `said`: null, as no run has said this before.

`changes`: it says DROP or RENAME; `written`: its outputs, as a list of names; `shape`: null where the body was read;
`cut`: the body alone has the facets of the run.
"""


def parse(bronze: Folder, events: DataFrame, shapes: Shapes, names: NameRules) -> DataFrame:
    """Read events into `PARSED`."""
    told = shapes.rows.select("shape")
    known = events.join(told, "shape", "left_semi") if shapes.old else events
    known = known.select(*READ).withColumn("run_facets", F.expr("CASE WHEN run_facets IS NOT NULL THEN '' END"))
    contents = shapes.refs.join(shapes.contents, "ref").select("shape", "ref", "value")
    rows = contents.unionByName(shapes.rows, allowMissingColumns=True)
    rows = rows.unionByName(known, allowMissingColumns=True).select("ref", "value", "told", *READ)
    rows = bronze.few(rows) if bronze.small else rows.repartition("shape")
    rows = rows.sortWithinPartitions("shape", F.col("ref").isNull(), F.col("told").isNull())
    found = map_rows(rows, ShapeParser(names), PARSED)
    if shapes.old:
        old = events.join(told, "shape", "left_anti").select(*BODY)
        found = bronze.few(found.unionByName(map_rows(old, BodyParser(names), PARSED)))
    return found


@dataclass(frozen=True)
class ShapeParser:
    """Reads the rows of one partition: of each shape first its contents, then itself, then the events that have it."""

    names: NameRules

    def __call__(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Take (ref, value, told, *`READ`); yield rows of `PARSED`."""
        for _, group in groupby(rows, key=itemgetter(_SHAPE)):
            contents = TextContents()
            reader = PartReader(self.names.canonical, contents)
            same: dict[str, _Same] = {}
            for ref, value, told, event_id, received_us, *cells in group:
                if ref is not None:
                    contents.hold(ref, value)
                elif told is not None:
                    said = reader.learn(shape_of(tuple(told.values())))
                elif sent := sent_of(cells):
                    part = reader.part(event_id, received_us, sent, said)
                    alike = same.get(part.kind) or same.setdefault(part.kind, _Same(part))
                    is_cut = sent.run_facets is None and part.kind == "RUN" and said.has_run_facets
                    yield alike.row(part, sent.shape, is_cut=is_cut)


_SHAPE = 3 + READ.index("shape")


@dataclass(frozen=True)
class BodyParser:
    """Reads the bodies of one partition."""

    names: NameRules

    def __call__(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Take rows of `BODY`; yield rows of `PARSED`."""
        reader = PartReader(self.names.canonical, ContentsInMemory())
        for event_id, received_us, body in rows:
            part = reader.read(event_id, received_us, body)
            yield _Same(part).row(part, None, is_cut=False)


class _Same:
    """What is the same of all events of one shape and kind."""

    def __init__(self, part: Part):
        self._contents = refs_of(part)
        self._links = [each for mention in (*part.inputs, *part.outputs) for each in bindings_of(mention)]
        self._happened = changes_names(part), text_of(sorted(outputs_of([part])))

    def row(self, part: Part, shape: str | None, *, is_cut: bool) -> Row:
        names = ((*alias.parts, *location.parts, part.time_us) for alias, location in self._links)
        bindings = [dict(zip(BINDING.fields, each, strict=True)) for each in names]
        told = part.event_id, shape, part.kind, *part.saying.job.parts, part.time_us, order_text(part.order), is_cut
        return part.run_key, parts_text([part]), self._contents, None, bindings, *self._happened, *told
