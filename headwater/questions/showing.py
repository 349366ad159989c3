"""Columns and steps as answers show them."""

from headwater.lineage.contents import How
from headwater.lineage.name import Name
from headwater.lineage.snapshot import Snapshot
from headwater.questions.answers.parts import Column, Transformation


def shown_column(moment: Snapshot, dataset: Name, key: str | None) -> Column:
    """Return a column as the newest schema spells it."""
    return Column(*dataset.parts, None if key is None else moment.columns(dataset).shown(key))


def shown_how(how: How) -> Transformation:
    """Return a transformation."""
    return Transformation("DIRECT" if how.direct else "INDIRECT", how.subtype, how.masked, how.description)
