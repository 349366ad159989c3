"""What DataHub's model can represent, depending on the sink's options; D5 to D9 in docs/sinks.md."""

from typing import cast

from headwater.sinks.contract.item_support import ItemSupport, SupportTable
from headwater.sinks.contract.sink_options import Options
from headwater.sinks.targets.datahub.options import DataHubOptions

_ALWAYS = (
    ItemSupport("state", "RUNNING", "not", "DataHub knows started and ended runs only"),
    ItemSupport("state", "OTHER", "not", "DataHub knows started and ended runs only"),
    ItemSupport("run facet", "parent", "part", "the parent run, not the root run"),
    ItemSupport("run facet", "parentRun", "part", "the parent run, if there is no `parent` facet"),
    ItemSupport("run facet", "tags", "not", "only jobs and datasets have tags"),
    ItemSupport("job facet", "documentation", "part", "its text"),
    ItemSupport("long text", "job.documentation", "whole"),
    ItemSupport("nested value", "job.ownership", "part", "owners; unknown types become TECHNICAL_OWNER"),
    ItemSupport("nested value", "job.tags", "part", "key and value, without the source of a tag"),
    ItemSupport("nested value", "*", "not", "properties contain plain texts and numbers, `facet.member.member`"),
    ItemSupport("long text", "*", "not", "properties are cut after 1,000 characters"),
    ItemSupport("many values", "*", "not", "the first 200 properties per run or job, in alphabetical order"),
    ItemSupport("dataset facet", "symlinks", "part", "the last table symlink becomes the dataset's name"),
    ItemSupport("input facet", "*", "not", "statistics are not sent"),
    ItemSupport("output facet", "outputStatistics", "part", "rows, bytes and files in `operation`, for complete runs"),
    ItemSupport("output facet", "*", "not", "other statistics are not sent"),
    ItemSupport("dataset facet", "lifecycleStateChange", "part", "in `operation`, for outputs of complete runs"),
    ItemSupport("dataset-wide edge", "*", "part", "an edge to each known column of the output"),
    ItemSupport("dataset edge", "*", "part", "between datasets, without columns"),
    ItemSupport("job edge", "*", "not", "edges connect datasets"),
    ItemSupport("description", "*", "not", "`transformOperation` contains types and subtypes"),
    ItemSupport("written dataset", "*", "part", "a dataset that a run only rewrites is its input (D9)"),
)
_COLUMNS = "its columns only, if a whole dataset depends on a column"
_NO_DATASETS = (
    ItemSupport("event", "DATASET", "not", "datasets are sent with `metadata.dataset.materialize`"),
    ItemSupport("dataset facet", "schema", "part", _COLUMNS),
    ItemSupport("nested column", "*", "part", _COLUMNS),
    ItemSupport("dataset facet", "*", "not", "datasets are sent with `metadata.dataset.materialize`"),
)
_NO_SCHEMAS = (
    ItemSupport("dataset facet", "schema", "part", _COLUMNS),
    ItemSupport("nested column", "*", "part", _COLUMNS),
)
_SCHEMAS = (ItemSupport("dataset facet", "schema", "part", "names, types and descriptions of columns"),)
_DATASETS = (
    ItemSupport("dataset facet", "tags", "part", "key and value, not where a tag comes from"),
    ItemSupport("dataset facet", "*", "not", "only the facets schema, tags, symlinks and lineage are sent"),
)


def datahub_support(options: Options) -> SupportTable:
    """Return what DataHub can represent with these options."""
    given = cast("DataHubOptions", options)
    datasets = (*(_SCHEMAS if given.schemas else _NO_SCHEMAS), *_DATASETS) if given.materialize else _NO_DATASETS
    return (*_ALWAYS, *datasets, ItemSupport("*", "*", "whole"))
