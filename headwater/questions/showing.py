"""Columns and steps as answers show them."""

from headwater.lineage.edges.facet_contents import Transformation
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.time.snapshot import Snapshot
from headwater.questions.answers.answer_parts import Column, StepTransformation


def shown_column(snapshot: Snapshot, dataset: Name, key: str | None) -> Column:
    """Return a column as the newest schema intervals it."""
    return Column(*dataset.parts, None if key is None else snapshot.columns(dataset).shown(key))


def shown_transformation(transformation: Transformation) -> StepTransformation:
    """Return a transformation."""
    return StepTransformation(
        "DIRECT" if transformation.direct else "INDIRECT",
        transformation.subtype,
        transformation.masked,
        transformation.description,
    )
