"""What Purview can represent: a job's newest state, lineage of datasets, and columns whose values are copied."""

from headwater.sinks.contract.item_support import ItemSupport, SupportTable
from headwater.sinks.contract.sink_options import Options

_NO_COLUMNS = "its dataset is an input, without columns"
_COLUMNS = "columns of datasets that this sink creates, if their rule has `columns`: name, data type, description"
_DECLARED = (
    ItemSupport("event", "*", "whole"),
    ItemSupport("state", "*", "part", "a job has the state of its newest run"),
    ItemSupport("read dataset", "*", "part", "of runs that count and write a dataset"),
    ItemSupport("written dataset", "*", "part", "of runs that count"),
    ItemSupport("job facet", "jobType", "part", "whether its runs end"),
    ItemSupport("dataset facet", "symlinks", "part", "used for the dataset's name"),
    ItemSupport("dataset facet", "lifecycleStateChange", "part", "whether a run only drops a dataset"),
    ItemSupport("dataset facet", "schema", "part", _COLUMNS),
    ItemSupport("nested column", "*", "part", _COLUMNS),
    ItemSupport("value edge", "*", "whole"),
    ItemSupport("other edge", "*", "part", _NO_COLUMNS),
    ItemSupport("dataset-wide edge", "*", "part", _NO_COLUMNS),
    ItemSupport("dataset edge", "*", "part", _NO_COLUMNS),
    ItemSupport("masked column", "*", "not", "columnMapping contains only names"),
    ItemSupport("subtype", "*", "not", "columnMapping contains only names"),
    ItemSupport("description", "*", "not", "columnMapping contains only names"),
    ItemSupport("missing input", "*", "whole"),
    ItemSupport("*", "*", "not", "facets are not sent"),
)


def purview_support(_: Options) -> SupportTable:
    """Return what Purview can represent."""
    return _DECLARED
