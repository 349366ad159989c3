"""What DataHub's model holds of what events say, by a sink's options; D5 to D9 of docs/sinks.md."""

from typing import cast

from headwater.sinks.contract.sink_holdings import Holding, Holdings
from headwater.sinks.contract.sink_options import Options
from headwater.sinks.targets.datahub.datahub_options import DataHubOptions

_ALWAYS = (
    Holding("state", "RUNNING", "not", "a run has begun or has ended"),
    Holding("state", "OTHER", "not", "a run has begun or has ended"),
    Holding("run facet", "parent", "part", "the parent run, not the root"),
    Holding("run facet", "parentRun", "part", "the parent run, where no `parent` names it"),
    Holding("run facet", "tags", "not", "tags are of jobs and datasets"),
    Holding("job facet", "documentation", "part", "its text"),
    Holding("long text", "job.documentation", "whole"),
    Holding("nested value", "job.ownership", "part", "owners; a type that it does not know is TECHNICAL_OWNER"),
    Holding("nested value", "job.tags", "part", "key and value, not where a tag comes from"),
    Holding("nested value", "*", "not", "properties are plain texts and numbers, `facet.member.member`"),
    Holding("long text", "*", "not", "properties are cut after 1,000 characters"),
    Holding("many values", "*", "not", "200 properties a run or job, in alphabetical order"),
    Holding("dataset facet", "symlinks", "part", "the last table that it names calls the dataset"),
    Holding("input facet", "*", "not", "statistics are not sent"),
    Holding("output facet", "outputStatistics", "part", "rows, bytes and files in `operation`, of a complete run"),
    Holding("output facet", "*", "not", "other statistics are not sent"),
    Holding("dataset facet", "lifecycleStateChange", "part", "in `operation`, of what a complete run writes"),
    Holding("dataset-wide edge", "*", "part", "an edge to each column of the output that is known"),
    Holding("dataset edge", "*", "part", "between datasets, without columns"),
    Holding("job edge", "*", "not", "edges are between datasets"),
    Holding("description", "*", "not", "`transformOperation` has types and subtypes"),
    Holding("written dataset", "*", "part", "what a run only rewrites is its input (D9)"),
)
_COLUMNS = "columns alone, where a whole dataset depends on one"
_NO_DATASETS = (
    Holding("event", "DATASET", "not", "datasets are sent with `metadata.dataset.materialize`"),
    Holding("dataset facet", "schema", "part", _COLUMNS),
    Holding("nested column", "*", "part", _COLUMNS),
    Holding("dataset facet", "*", "not", "datasets are sent with `metadata.dataset.materialize`"),
)
_NO_SCHEMAS = (
    Holding("dataset facet", "schema", "part", _COLUMNS),
    Holding("nested column", "*", "part", _COLUMNS),
)
_SCHEMAS = (Holding("dataset facet", "schema", "part", "names, types and descriptions of columns"),)
_DATASETS = (
    Holding("dataset facet", "tags", "part", "key and value, not where a tag comes from"),
    Holding("dataset facet", "*", "not", "of facets only schema, tags, symlinks and lineage"),
)


def held_by_datahub(options: Options) -> Holdings:
    """Return what a metadata service is told."""
    given = cast("DataHubOptions", options)
    datasets = (*(_SCHEMAS if given.schemas else _NO_SCHEMAS), *_DATASETS) if given.materialize else _NO_DATASETS
    return (*_ALWAYS, *datasets, Holding("*", "*", "whole"))
