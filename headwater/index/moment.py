"""What questions may ask of lineage, now or at a moment of the past; `LiveGraph` and `PastMoment` answer it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from headwater.lineage.columns import Columns
from headwater.lineage.exposed_until import Written
from headwater.lineage.graph import Graph
from headwater.lineage.name import Name
from headwater.lineage.part import Tag
from headwater.lineage.view import View

NOW_US = 1 << 62
"""Later than any event: what names mean in the end."""


class Stats(NamedTuple):
    """What is known of the runs behind an edge set; times of runs in microseconds, UTC."""

    runs: int
    first_us: int
    last_us: int
    landed: bool


class Scenery(Protocol):
    """A graph and the names in it: what a walk needs. `spark/surroundings.py` has it, too."""

    graph: Graph

    def columns(self, dataset: Name) -> Columns:
        """Return the columns of the newest schema of a dataset in its generation."""

    def shown_columns(self, dataset: Name) -> Columns:
        """Return the columns of a dataset by its newest generation that says so."""

    def resolve(self, name: Name) -> Name:
        """Return the dataset that a canonical name means, whatever its generation."""

    def aliases(self) -> Mapping[Name, Name]:
        """Return the names that are bound to another or were renamed, with the datasets they mean."""

    def knows(self, dataset: Name) -> bool:
        """Tell whether a schema or an edge is known of a dataset."""

    def datasets(self) -> Sequence[Name]:
        """Return every dataset that a schema or an edge is known of, whatever its generation."""

    def job(self, key: Name) -> Name:
        """Return what people call a job: where it is known by an artifact's id, the name it has now."""


class Known(Scenery, Protocol):
    """A graph, and what is known of its datasets."""

    def stands(self, dataset: Name) -> bool:
        """Tell whether a dataset is there: it was not dropped, or was made again."""

    def was_read(self, dataset: Name) -> bool:
        """Tell whether some run, be it long ago, read a dataset to write another."""

    def tags(self) -> Mapping[Name, Sequence[Tag]]:
        """Return the tags that hold, by dataset."""


class Moment(Known, Protocol):
    """A graph and all that belongs to it."""

    def view(self) -> View:
        """Return what counts."""

    def older_than(self, time_us: int) -> Iterable[int]:
        """Return the edge sets whose newest run is older than a moment."""

    def written(self, dataset: Name) -> Written:
        """Return who ever wrote a generation of a dataset."""

    def newest_run(self, number: int) -> str | None:
        """Return the newest run behind an edge set."""

    def stats(self, number: int) -> Stats:
        """Return what is known of the runs behind an edge set."""
