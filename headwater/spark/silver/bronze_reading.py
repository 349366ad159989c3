"""Bronze rows to parts of runs: what one event says, as text, and references to what its facets say.

An event names its shape, which says all that recurs; of rows of versions that kept no shape the body is read.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.events.stored_cells import SENT, sent_of, shape_of
from headwater.lineage.edges.facet_contents import ContentsInMemory
from headwater.lineage.names.canonical_names import NameRules
from headwater.lineage.names.names_in_time import bindings_of
from headwater.lineage.runs.commit_proofs import proofs_in
from headwater.lineage.runs.event_reading import facts_reader
from headwater.lineage.runs.newest_first import order_text
from headwater.lineage.runs.run_facts import Forms, RunFacts, names_of_parts
from headwater.lineage.runs.write_properties import READ_OF_RUNS
from headwater.spark.delta.arrow_rows import Row, map_rows
from headwater.spark.delta.spark_delta import TableFolder
from headwater.spark.silver.content_texts import TextContents, refs_of
from headwater.spark.silver.dataset_changes import changes_names, outputs_of
from headwater.spark.silver.event_shapes import Shapes
from headwater.spark.silver.texts import facts_text, text_of
from headwater.tables import ListOf, StructOf, Table

READ = ("event_id", "received_us", *SENT.values())
"""All that silver reads of an event that has a shape; times in us."""

_OF_RULES = (
    f"CASE WHEN run_facets RLIKE '{'|'.join(READ_OF_RUNS)}' THEN run_facets WHEN run_facets IS NOT NULL THEN '' END"
)
"""The facets of a run where they hold what the rules read, else an empty text; null where the body alone has them."""

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
        "producer": "string",
        "time_us": "long",
        "event_order": "string",
        "cut": "boolean",
        "parted": "string",
        "proofs": "string",
    },
)
"""`facts`: a list of one; `contents`: what it refers to; `said`: null, as no run has said this before.

`changes`: it says DROP or RENAME; `written`: its outputs, as a list of names; `shape`: null where the body was read;
`cut`: the body alone has the facets of the run; `parted`: the names of which it mentions a part, as a list, null where
there are none; `proofs`: what it tells that commits prove, as a list, null likewise.
"""


def parse(bronze: TableFolder, events: DataFrame, shapes: Shapes, names: NameRules) -> DataFrame:
    """Read events into `PARSED`."""
    told = shapes.rows.select("shape")
    known = events.join(told, "shape", "left_semi") if shapes.old else events
    known = known.select(*READ).withColumn("run_facets", F.expr(_OF_RULES))
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
            reader = facts_reader(self.names, contents)
            same: dict[tuple[str, Forms], _Same] = {}
            for ref, value, told, event_id, received_us, *cells in group:
                if ref is not None:
                    contents.hold(ref, value)
                elif told is not None:
                    said = reader.learn(shape_of(tuple(told.values())))
                elif sent := sent_of(cells):
                    fact = reader.fact(event_id, received_us, sent, said)
                    key = fact.kind, fact.content.forms
                    if any(True for _ in proofs_in(fact.content.write_signs)):  # events of one shape prove other things
                        alike = _Same(fact)
                    else:
                        alike = same.get(key) or same.setdefault(key, _Same(fact))
                    is_cut = sent.run_facets is None and fact.kind == "RUN" and said.has_run_facets
                    yield alike.row(fact, sent.shape, is_cut=is_cut)


_SHAPE = 3 + READ.index("shape")


@dataclass(frozen=True)
class BodyParser:
    """Reads the bodies of one partition."""

    names: NameRules

    def __call__(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Take rows of `BODY`; yield rows of `PARSED`."""
        reader = facts_reader(self.names, ContentsInMemory())
        for event_id, received_us, body in rows:
            fact = reader.read(event_id, received_us, body)
            yield _Same(fact).row(fact, None, is_cut=False)


class _Same:
    """What is the same of all events of one shape and kind in which names mean the same."""

    def __init__(self, fact: RunFacts):
        self._contents = refs_of(fact)
        self._links = [each for use in (*fact.inputs, *fact.outputs) for each in bindings_of(use)]
        self._happened = changes_names(fact), text_of(sorted(outputs_of([fact])))
        parted = sorted(names_of_parts([fact]))
        self._parted = text_of(parted) if parted else None
        proofs = list(proofs_in(fact.content.write_signs))
        self._proofs = text_of(proofs) if proofs else None

    def row(self, fact: RunFacts, shape: str | None, *, is_cut: bool) -> Row:
        names = ((*alias.parts, *location.parts, fact.time_us) for alias, location in self._links)
        bindings = [dict(zip(BINDING.fields, each, strict=True)) for each in names]
        told = (
            fact.event_id,
            shape,
            fact.kind,
            *fact.content.job.parts,
            fact.content.producer,
            fact.time_us,
            order_text(fact.order),
            is_cut,
            self._parted,
            self._proofs,
        )
        return fact.run_key, facts_text([fact]), self._contents, None, bindings, *self._happened, *told
