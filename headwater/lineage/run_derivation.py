"""The parts of one run to what it says; what runs say again is worked out once."""

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple

from msgspec.structs import replace

from headwater.lineage.current import CARRIES, OPAQUE, SILENT, Group, Vote
from headwater.lineage.edges import Contribution, EdgeRules, contributions
from headwater.lineage.memo import Shape, ShapeMemo, Word
from headwater.lineage.name import Name
from headwater.lineage.part import Mention, Part
from headwater.lineage.run import Run, RunDataset, fold, in_order, newest_of

Said = Mapping[Group, Vote[Contribution]]


class Derived(NamedTuple):
    """What follows from the parts of one run; used: names as sent, for datasets or in lineage facets.

    alike: the same object for runs that say the same of the same datasets, but for their versions.
    """

    run: Run
    said: Said
    used: Set[Name]
    alike: object


class RunDerivation:
    """Derives runs one at a time; shapes: what it remembers, to be told when names or columns mean something else."""

    def __init__(self, rules: EdgeRules):
        """Remember nothing yet."""
        self.shapes = ShapeMemo(rules.contents, rules.naming)
        self._rules = rules

    def derive(self, parts: Sequence[Part]) -> Derived:
        """Take all parts of a run, at least one."""
        ordered = in_order(parts)
        key = self.shapes.key(ordered)
        shape = self.shapes.find(key)
        if shape is not None:
            run = self._like(shape, ordered)
        else:
            run = fold(parts, self._rules.naming)
            words = [word_of(run, found) for found in contributions(run, self._rules)]
            shape = self.shapes.keep(key, parts, run, words)
        return Derived(run, {word.group: _vote(run, word) for word in shape.words}, shape.used, shape)

    def _like(self, shape: Shape, ordered: Sequence[Part]) -> Run:
        """Return what `fold` returns of a batch run whose events say what those of another said."""
        newest, times = ordered[-1], [part.time_us for part in ordered]
        end = ordered[shape.ended] if shape.ended >= 0 else None
        return replace(
            shape.run,
            key=newest.run_key,
            execution=newest_of(ordered, "execution") or newest.run_key,
            parent=newest_of(ordered, "parent"),
            started_us=min(times),
            ended_us=end and end.time_us,
            last_us=max(times),
            time_us=(end or newest).time_us,
            inputs=self._dated(shape.run.inputs, ((part, each) for part in ordered for each in part.inputs)),
            outputs=self._dated(shape.run.outputs, ((part, each) for part in ordered for each in part.outputs)),
            newest=newest.run_key,
        )

    def _dated(
        self, datasets: dict[Name, RunDataset], mentions: Iterable[tuple[Part, Mention]]
    ) -> dict[Name, RunDataset]:
        """Say of datasets which versions they are, and when their lineage came."""
        told = [(part, each) for part, each in mentions if each.lineage is not None or each.version]
        found = dict(datasets) if told else datasets
        for part, each in told:
            name = self._rules.naming.resolve(each.name, part.time_us)
            if dataset := found.get(name):
                at_us = dataset.lineage_us if each.lineage is None else part.time_us
                found[name] = replace(dataset, version=each.version or dataset.version, lineage_us=at_us)
        return found


def group_of(run: Run, found: Contribution) -> Group:
    """Return where a run's word counts: with its job, or in the layer of what is declared."""
    if run.kind == "RUN":
        return Group("observed", run.job_key, found.output)
    return Group("declared", run.job_key if run.kind == "JOB" else Name("", run.producer), found.output)


def word_of(run: Run, found: Contribution) -> Word:
    """Return what a run says in the group of one of its outputs, without what differs from run to run."""
    written = run.outputs.get(found.output) if found.output else None
    rewrites = run.state == "COMPLETE" and written is not None and written.lifecycle in _REWRITES
    return Word(group_of(run, found), weight_of(found), found.landed, rewrites, found)


def _vote(run: Run, word: Word) -> Vote[Contribution]:
    _, weight, landed, rewrites, said = word
    return Vote(
        run.time_us, run.newest, run.key, run.execution, run.started_us, run.last_us, weight, landed, rewrites, said
    )


def weight_of(found: Contribution) -> int:
    """Return how much a run says of an output: see `current.Vote`."""
    return CARRIES if found.carries else OPAQUE if {*found.opaque, *found.tables} - {found.output} else SILENT


_REWRITES = ("OVERWRITE", "TRUNCATE", "CREATE")
