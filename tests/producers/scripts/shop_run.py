"""One run of a job, reported with OpenLineage's Python client, with column lineage from orders to revenue."""

import sys
from datetime import UTC, datetime

from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import column_lineage_dataset, parent_run, schema_dataset, tags_dataset

NAMESPACE = "postgres://shop.example:5432"


FIELDS = ("customer", "email_hash", "total")


def made_of(field: str, subtype: str, *, masking: bool = False) -> column_lineage_dataset.Fields:
    """Return the lineage of a column that is made from one column of the orders."""
    how = column_lineage_dataset.Transformation(type="DIRECT", subtype=subtype, masking=masking)
    source = column_lineage_dataset.InputField(NAMESPACE, "python.orders", field, transformations=[how])
    return column_lineage_dataset.Fields(inputFields=[source])


def main(run: str, parent: str) -> None:
    """Report the start and the end of the run, with its inputs and outputs."""
    columns = [schema_dataset.SchemaDatasetFacetFields(name, "text") for name in ("customer", "email", "amount")]
    pii = tags_dataset.TagsDatasetFacetFields(key="pii", value="true", source="shop", field="email")
    said = {"schema": schema_dataset.SchemaDatasetFacet(columns), "tags": tags_dataset.TagsDatasetFacet(tags=[pii])}
    orders = InputDataset(NAMESPACE, "python.orders", facets=said)
    lineage = column_lineage_dataset.ColumnLineageDatasetFacet(
        {
            "customer": made_of("customer", "IDENTITY"),
            "email_hash": made_of("email", "TRANSFORMATION", masking=True),
            "total": made_of("amount", "AGGREGATION"),
        }
    )
    made = schema_dataset.SchemaDatasetFacet([schema_dataset.SchemaDatasetFacetFields(name, "text") for name in FIELDS])
    revenue = OutputDataset(NAMESPACE, "python.revenue", facets={"schema": made, "columnLineage": lineage})
    above = parent_run.ParentRunFacet(run=parent_run.Run(parent), job=parent_run.Job("python", "nightly"))
    with_facets = Run(run, facets={"parent": above})
    client = OpenLineageClient()
    for state, inputs, outputs in ((RunState.START, [], []), (RunState.COMPLETE, [orders], [revenue])):
        client.emit(
            RunEvent(
                eventType=state, eventTime=datetime.now(UTC).isoformat(), run=with_facets, job=Job("python", "sum_up"),
                inputs=inputs, outputs=outputs, producer="https://example.org/shop",
            )
        )  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
