"""What Purview holds of what events say: a job's newest state, what feeds what, columns whose values go into others."""

from headwater.sinks.contract.sink_holdings import Holding, Holdings
from headwater.sinks.contract.sink_options import Options

_NO_COLUMNS = "its dataset is an input, without columns"
_COLUMNS = "columns of what this sink made, where its rule has `columns`: name, data type, description"
_DECLARED = (
    Holding("event", "*", "whole"),
    Holding("state", "*", "part", "a job has the state of its newest run"),
    Holding("read dataset", "*", "part", "of runs that count, and where something is written"),
    Holding("written dataset", "*", "part", "of runs that count"),
    Holding("job facet", "jobType", "part", "whether its runs end"),
    Holding("dataset facet", "symlinks", "part", "they name the dataset"),
    Holding("dataset facet", "lifecycleStateChange", "part", "whether a run only drops a dataset"),
    Holding("dataset facet", "schema", "part", _COLUMNS),
    Holding("nested column", "*", "part", _COLUMNS),
    Holding("value edge", "*", "whole"),
    Holding("other edge", "*", "part", _NO_COLUMNS),
    Holding("dataset-wide edge", "*", "part", _NO_COLUMNS),
    Holding("dataset edge", "*", "part", _NO_COLUMNS),
    Holding("masked column", "*", "not", "columnMapping has names alone"),
    Holding("subtype", "*", "not", "columnMapping has names alone"),
    Holding("description", "*", "not", "columnMapping has names alone"),
    Holding("missing input", "*", "whole"),
    Holding("*", "*", "not", "facets are not sent"),
)


def held_by_purview(_: Options) -> Holdings:
    """Return what an account is told."""
    return _DECLARED
