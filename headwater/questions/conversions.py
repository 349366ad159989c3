"""Columns and transformations for answers."""

from msgspec import UNSET, UnsetType

from headwater.events.times import iso
from headwater.lineage.edges.facet_contents import Transformation
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.names_in_time import Naming
from headwater.lineage.time.snapshot import Snapshot
from headwater.questions.answers.answer_parts import Column, FormerLocation, StepTransformation


def shown_column(snapshot: Snapshot, dataset: Name, key: str | None) -> Column:
    """Return a column with the spelling of the newest schema."""
    return Column(*dataset.parts, None if key is None else snapshot.columns(dataset).shown(key))


def shown_transformation(transformation: Transformation) -> StepTransformation:
    """Return a transformation for an answer."""
    return StepTransformation(
        "DIRECT" if transformation.direct else "INDIRECT",
        transformation.subtype,
        transformation.masked,
        transformation.description,
    )


def former_location(naming: Naming, dataset: Name) -> FormerLocation | UnsetType:
    """Return the name that left a location last and the time, UNSET while a name means the location."""
    found = naming.moved.former(dataset.plain)
    return FormerLocation(*found.name.parts, iso(found.since_us) or "") if found else UNSET
