"""A snapshot that is derived from events in one go: of the past, of a file, of a test."""

from collections.abc import Mapping, Sequence

from headwater.lineage.contents import Contents
from headwater.lineage.current import Group, Vote
from headwater.lineage.derive import Derivation
from headwater.lineage.edges import Contribution, others_read
from headwater.lineage.jobs import job_key
from headwater.lineage.kin import KinInMemory
from headwater.lineage.memory import MemoryStore
from headwater.lineage.name import Name
from headwater.lineage.naming import Naming
from headwater.lineage.part import Part
from headwater.lineage.schemas import seen_schemas
from headwater.lineage.snapshot import Remask, as_said
from headwater.lineage.snapshot_of_votes import SnapshotOfVotes
from headwater.lineage.tags import newest_tags, tags_facets


class SnapshotOfParts(SnapshotOfVotes):
    """What follows from the parts of some events, as if there were no others."""

    def __init__(self, parts: Sequence[Part], contents: Contents, remask: Remask = as_said):
        """Derive everything; `contents` holds what the parts refer to."""
        self.store, naming = MemoryStore(), Naming()
        super().__init__(naming, remask)
        derivation = Derivation(self.store, contents, naming)
        derivation.add(parts)
        seen = (each for part in parts for each in seen_schemas(part))
        described = {schema.dataset(name, naming) for name, schema in seen}
        self.schemas = {dataset: derivation.schemas.columns(dataset) for dataset in described}
        self.tagged = newest_tags((facet for part in parts for facet in tags_facets(part)), naming)
        runs = sorted(self.store.runs.values(), key=lambda run: (run.time_us, run.key))
        self.jobs = {run.job_key: job_key(run.job, None) for run in runs}
        kin = KinInMemory(runs, self.store.votes)
        for votes in by_output(self.store.votes).values():
            self.take(votes, kin)
            said = (vote.said for own in votes.values() for vote in own)
            self.ever_read.update(name.plain for each in said for name in others_read(each))


def by_output(
    votes: Mapping[Group, Mapping[str, Vote[Contribution]]],
) -> dict[Name | None, dict[Group, list[Vote[Contribution]]]]:
    """Sort votes by the dataset they are about, its generations together."""
    found: dict[Name | None, dict[Group, list[Vote[Contribution]]]] = {}
    for group, by_run in votes.items():
        if by_run:
            found.setdefault(group.output and group.output.plain, {})[group] = list(by_run.values())
    return found
