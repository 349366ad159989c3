"""Rule 4.7: find out what the JobEvent of a job explains about its runs."""

from collections.abc import Callable
from typing import NamedTuple

from headwater.lineage.edges.accounting import ALL_COLUMNS, ColumnList, LineColumns
from headwater.lineage.edges.run_edges import OutputLineage
from headwater.lineage.edges.schema_columns import Columns
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.traversal.column_graph import Graph


class Explanations(NamedTuple):
    """What JobEvents in force explain, by edge set of an observed run.

    inputs: the inputs covered by a JobEvent that accounts for every column of the output.
    complete: edge sets whose unaccounted columns are all accounted for by a JobEvent.
    """

    inputs: dict[int, tuple[Name, ...]]
    complete: set[int]


def explained_by_jobs(
    graph: Graph,
    in_force: Callable[[int], bool],
    columns_of: Callable[[Name], Columns],
    name_of: Callable[[Name], Name],
) -> Explanations:
    """Return what JobEvents in force explain about the observed runs of their jobs.

    in_force: returns whether a declaration is in force; columns_of: returns the columns of a dataset.
    name_of: returns the name of a job. Users declare jobs by name, and the key of a job may be the id of an artifact.
    """
    found = Explanations({}, set())
    for number in filter(in_force, graph.declared):
        job_output, lineage = graph.sets[number]
        dataset = None if lineage.output is None else graph.dataset(lineage.output)
        if lineage.output is None or dataset is None:
            continue
        writers = [(each, graph.sets[each][0]) for each in graph.fed_by.get(dataset, ())]
        observed = [(each, by.job) for each, by in writers if by.layer == "observed" and by.output == lineage.output]
        same = [each for each, key in observed if job_output.job in (key, name_of(key))]
        if not same:
            continue
        columns = columns_of(lineage.output)
        listed = ColumnList(frozenset(columns.by_key), columns.top_level)
        accounted = _accounted(lineage)
        is_whole = not listed.unaccounted(accounted)
        for each in same:
            if is_whole:
                found.inputs[each] = lineage.named
            left_out = frozenset(graph.sets[each][1].unaccounted)
            known = bool(left_out) and ALL_COLUMNS not in left_out
            if known and not ColumnList(left_out, listed.top_level).unaccounted(accounted):
                found.complete.add(each)
    return found


def _accounted(lineage: OutputLineage) -> LineColumns:
    """Return the columns that a declaration accounts for. `dataset` entries account for none."""
    named = {edge.target for edge in lineage.edges if edge.target is not None}
    return LineColumns(named.union(lineage.bare).difference(lineage.unaccounted), frozenset(), frozenset())
