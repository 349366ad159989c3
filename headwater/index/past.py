"""Lineage at a moment of the past: everything is derived again from the events that count then."""

from collections.abc import Mapping, Sequence

from headwater.index.moment import NOW_US, Stats
from headwater.lineage.columns import Columns
from headwater.lineage.contents import Contents
from headwater.lineage.current import newness
from headwater.lineage.exposed_until import Written
from headwater.lineage.jobs import job_key
from headwater.lineage.name import Name
from headwater.lineage.part import Part, Tag
from headwater.lineage.scene import Remask, Scene
from headwater.lineage.tags import newest_tags, tags_facets
from headwater.lineage.view import View


class PastMoment:
    """See `moment.Moment`."""

    def __init__(self, parts: Sequence[Part], contents: Contents, remask: Remask):
        """Derive from the parts that count."""
        self._scene = Scene(parts, contents, remask)
        self._parts = parts
        self._naming = self._scene.naming
        self.graph = self._scene.graph
        self._view = self._scene.view()
        self._mentioned = {
            self._naming.resolve(mention.name, part.time_us).plain
            for part in parts
            for mention in (*part.inputs, *part.outputs)
        } | {*self.graph.generations}
        self._tags: Mapping[Name, Sequence[Tag]] | None = None
        self._jobs: dict[Name, Name] | None = None

    def view(self) -> View:
        """Return what counts."""
        return self._view

    def columns(self, dataset: Name) -> Columns:
        """Return the columns of the newest schema of a dataset in its generation."""
        return self._scene.schemas.columns(dataset)

    def shown_columns(self, dataset: Name) -> Columns:
        """Return the columns of a dataset by its newest generation that says so."""
        every = self._naming.generations.meanings(dataset)
        found = (columns for each in every if (columns := self.columns(each)).names)
        return next(found, self.columns(dataset))

    def stands(self, dataset: Name) -> bool:
        """Tell whether a dataset is there: it was not dropped, or was made again."""
        return self._naming.generations.is_there(dataset)

    def was_read(self, dataset: Name) -> bool:
        """Tell whether some run read a dataset to write another."""
        return dataset.plain in self._scene.ever_read

    def resolve(self, name: Name) -> Name:
        """Return the dataset that a canonical name means."""
        return self._naming.resolve(name, NOW_US).plain

    def aliases(self) -> Mapping[Name, Name]:
        """Return the names that are bound to another or were renamed, with the datasets they mean."""
        return {name: self.resolve(name) for name in self._naming.aliases()}

    def history(self) -> View:
        """Add what counts no more, and return a view of everything."""
        self._scene.put_history()
        self._view = self._scene.view()
        return self._view.everything()

    def older_than(self, time_us: int) -> list[int]:
        """Return the edge sets whose newest run is older than a moment."""
        return [number for number in self.graph.sets if self.stats(number).last_us < time_us]

    def knows(self, dataset: Name) -> bool:
        """Tell whether a dataset was mentioned."""
        return dataset in self._mentioned

    def datasets(self) -> list[Name]:
        """Return every dataset that was mentioned."""
        return list(self._mentioned)

    def written(self, dataset: Name) -> Written:
        """Return who ever wrote a generation of a dataset."""
        return self._scene.written(dataset)

    def tags(self) -> Mapping[Name, Sequence[Tag]]:
        """Return the tags that hold, by dataset."""
        if self._tags is None:
            facets = (facet for part in self._parts for facet in tags_facets(part))
            self._tags = newest_tags(facets, self._naming)
        return self._tags

    def job(self, key: Name) -> Name:
        """Return what people call a job: where it is known by an artifact's id, the name it has now."""
        if self._jobs is None:
            runs = sorted(self._scene.store.runs.values(), key=lambda run: run.time_us)
            self._jobs = {run.job_key: job_key(run.job, None) for run in runs}
        return self._jobs.get(key, key)

    def newest_run(self, number: int) -> str | None:
        """Return the newest run behind an edge set."""
        newest = max(self._scene.votes_of(number), key=newness, default=None)
        return newest.run_key if newest else None

    def stats(self, number: int) -> Stats:
        """Return what is known of the runs behind an edge set."""
        votes = self._scene.votes_of(number)
        times = [vote.time_us for vote in votes]
        return Stats(len(votes), min(times), max(times), any(vote.landed for vote in votes))
