"""Columns and steps as answers show them."""

from headwater.lineage.contents import How
from headwater.lineage.name import Name
from headwater.lineage.snapshot import Snapshot
from headwater.lineage.wave import Hit
from headwater.questions.answers.parts import Column, Job, Transformation, Via


def shown_column(moment: Snapshot, dataset: Name, key: str | None) -> Column:
    """Return a column as the newest schema spells it."""
    return Column(*dataset.parts, None if key is None else moment.columns(dataset).shown(key))


def shown_node(moment: Snapshot, node: int) -> Column:
    """Return the column of a node."""
    column = moment.graph.columns[node]
    return shown_column(moment, moment.graph.names[column.dataset], column.key)


def shown_how(how: How) -> Transformation:
    """Return a transformation."""
    return Transformation("DIRECT" if how.direct else "INDIRECT", how.subtype, how.masked, how.description)


def shown_via(moment: Snapshot, hit: Hit) -> Via:
    """Return how a hit was reached: from which column, by which job, by what transformation."""
    group, _ = moment.graph.sets[hit.edge_set]
    column, how = shown_node(moment, hit.parent), shown_how(moment.graph.hows[hit.how])
    return Via(column.namespace, column.dataset, column.column, Job(*moment.job(group.job).parts), how)
