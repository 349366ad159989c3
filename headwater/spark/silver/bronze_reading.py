"""Convert bronze events to facts about runs (JSON), with references to the contents of the events' facets.

Recurring events refer to one shape, which contains the parts that these events have in common. Rows of older releases
have no shape, so this module reads the bodies of their events.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.events.stored_cells import SENT, sent_from_cells, shape_from_cells
from headwater.lineage.edges.facet_contents import FacetContentsInMemory
from headwater.lineage.names.canonical_names import NameRules
from headwater.lineage.names.name_resolution import symlink_bindings
from headwater.lineage.runs.commit_proofs import parse_proof_signs
from headwater.lineage.runs.event_order import order_text
from headwater.lineage.runs.event_reading import make_facts_reader
from headwater.lineage.runs.run_facts import NameForms, RunFacts, names_with_part_mentions
from headwater.lineage.runs.write_properties import RUN_FACET_WORDS
from headwater.spark.delta.arrow_rows import Row, map_rows
from headwater.spark.delta.spark_delta import TableFolder
from headwater.spark.silver.content_texts import TextContents, references_of_facts
from headwater.spark.silver.dataset_changes import output_names, reports_change
from headwater.spark.silver.event_shapes import EventShapes
from headwater.spark.silver.texts import facts_text, json_text
from headwater.tables import ListOf, StructOf, Table

SHAPE_COLUMNS = ("event_id", "received_us", *SENT.values())
"""The columns that silver reads from an event with a shape. Times are in microseconds."""

_RULE_RUN_FACETS = (
    f"CASE WHEN run_facets RLIKE '{'|'.join(RUN_FACET_WORDS)}' THEN run_facets WHEN run_facets IS NOT NULL THEN '' END"
)
"""SQL for the run facets of an event: "" if the rules use none of these facets, null if only the body contains them."""

BODY_COLUMNS = ("event_id", "received_us", "body")
"""The columns that silver reads from an event without a shape. Times are in microseconds."""

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
        "run_facets_in_body": "boolean",
        "partitioned_names": "string",
        "proofs": "string",
    },
)
"""One row for each event. Lists are JSON.

`parts`: a list with the facts of the event. `contents`: the references in these facts, separated by spaces.
`said`: null for events. In the row of a stored run, it lists the run's candidates from earlier batches.
`changes`: the event reports DROP or RENAME. `written`: the list of its outputs.
`shape`: the shape of the event; null if its body was read.
`run_facets_in_body`: only the body contains the run facets.
`partitioned_names`: the list of datasets whose parts the event mentions, or null.
`proofs`: the list of `CommitProof` in the event, or null.
"""


def parse_events(bronze: TableFolder, events: DataFrame, shapes: EventShapes, names: NameRules) -> DataFrame:
    """Return a row of `PARSED` for each event."""
    known_shapes = shapes.rows.select("shape")
    known = events.join(known_shapes, "shape", "left_semi") if shapes.has_events_without_shape else events
    known = known.select(*SHAPE_COLUMNS).withColumn("run_facets", F.expr(_RULE_RUN_FACETS))
    contents = shapes.refs.join(shapes.contents, "ref").select("shape", "ref", "value")
    rows = contents.unionByName(shapes.rows, allowMissingColumns=True)
    rows = rows.unionByName(known, allowMissingColumns=True).select("ref", "value", "shape_row", *SHAPE_COLUMNS)
    rows = bronze.coalesce_if_small(rows) if bronze.small else rows.repartition("shape")
    rows = rows.sortWithinPartitions("shape", F.col("ref").isNull(), F.col("shape_row").isNull())
    found = map_rows(rows, ShapeParser(names), PARSED)
    if shapes.has_events_without_shape:
        old = events.join(known_shapes, "shape", "left_anti").select(*BODY_COLUMNS)
        found = bronze.coalesce_if_small(found.unionByName(map_rows(old, BodyParser(names), PARSED)))
    return found


@dataclass(frozen=True)
class ShapeParser:
    """Converts the events of one Spark partition, shape by shape.

    The rows must be sorted by shape. Of each shape, the contents come first, then the shape, then the events.
    """

    names: NameRules

    def __call__(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Convert rows (ref, value, row of `shapes`, *`SHAPE_COLUMNS`) to rows of `PARSED`, one for each event.

        A row of a content has `ref`, and a row of a shape has the row of `shapes`. In other rows, both are null.
        """
        for _, group in groupby(rows, key=itemgetter(_SHAPE)):
            contents = TextContents()
            reader = make_facts_reader(self.names, contents)
            by_kind: dict[tuple[str, NameForms], _SharedCells] = {}
            for ref, value, shape_row, event_id, received_us, *cells in group:
                if ref is not None:
                    contents.add(ref, value)
                elif shape_row is not None:
                    shape = reader.add_shape(shape_from_cells(tuple(shape_row.values())))
                elif sent := sent_from_cells(cells):
                    fact = reader.facts_of_event(event_id, received_us, sent, shape)
                    key = fact.kind, fact.content.name_forms
                    # Events of one shape may contain different proofs and assets.
                    has_assets = any(use.is_asset for use in (*fact.content.inputs, *fact.content.outputs))
                    if has_assets or any(True for _ in parse_proof_signs(fact.content.write_signs)):
                        shared = _SharedCells(fact)
                    else:
                        shared = by_kind.get(key) or by_kind.setdefault(key, _SharedCells(fact))
                    in_body = sent.run_facets is None and fact.kind == "RUN" and shape.has_run_facets
                    yield shared.row(fact, sent.shape, in_body=in_body)


_SHAPE = 3 + SHAPE_COLUMNS.index("shape")


@dataclass(frozen=True)
class BodyParser:
    """Reads the bodies of events without a shape."""

    names: NameRules

    def __call__(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Convert rows with the columns `BODY_COLUMNS` to rows of `PARSED`."""
        reader = make_facts_reader(self.names, FacetContentsInMemory())
        for event_id, received_us, body in rows:
            fact = reader.read_event(event_id, received_us, body)
            yield _SharedCells(fact).row(fact, None, in_body=False)


class _SharedCells:
    """The cells of `PARSED` that events share if they have the same shape, kind and forms of names."""

    def __init__(self, fact: RunFacts):
        self._contents = references_of_facts(fact)
        self._links = [each for use in (*fact.inputs, *fact.outputs) for each in symlink_bindings(use)]
        self._changes = reports_change(fact), json_text(sorted(output_names([fact])))
        partitioned_names = sorted(names_with_part_mentions([fact]))
        self._partitioned_names = json_text(partitioned_names) if partitioned_names else None
        proofs = list(parse_proof_signs(fact.content.write_signs))
        self._proofs = json_text(proofs) if proofs else None

    def row(self, fact: RunFacts, shape: str | None, *, in_body: bool) -> Row:
        names = ((*alias.parts, *location.parts, fact.time_us) for alias, location in self._links)
        bindings = [dict(zip(BINDING.fields, each, strict=True)) for each in names]
        cells = (
            fact.event_id,
            shape,
            fact.kind,
            *fact.content.job.parts,
            fact.content.producer,
            fact.time_us,
            order_text(fact.order),
            in_body,
            self._partitioned_names,
            self._proofs,
        )
        return fact.run_key, facts_text([fact]), self._contents, None, bindings, *self._changes, *cells
