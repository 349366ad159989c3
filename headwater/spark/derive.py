"""The parts of a run to what silver keeps of it: its state, the datasets it names, and what it says of each output."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from headwater.lineage.contents import ContentsInMemory
from headwater.lineage.current import Group, Vote
from headwater.lineage.derive import group_of, vote_of
from headwater.lineage.edges import Contribution, EdgeRules, contributions
from headwater.lineage.name import Name
from headwater.lineage.naming import bindings_of
from headwater.lineage.part import Part
from headwater.lineage.run import Run, fold
from headwater.spark.arrow import Row
from headwater.spark.known import Known, read_carried
from headwater.spark.texts import contents_of, hashes_of, key_of, read_parts, read_said, text_of, union
from headwater.tables import EDGE_SETS, RUN_DATASETS, RUNS, ListOf, StructOf, Table, without

VOTE = StructOf({**without(EDGE_SETS, "part", "late", "voted", "batch", "rules_hash"), "replaced": "boolean"})
_MENTION = StructOf(without(RUN_DATASETS, "run_key", "batch", "rules_hash"))

DERIVED = Table(
    "derived",
    {
        **without(RUNS, "batch", "rules_hash"),
        "datasets": ListOf(_MENTION),
        "changes": ListOf(VOTE),
        "missing": "string",
    },
)
"""changes: votes that are new or other than before, and those that are gone (`retracted`).

missing: datasets whose older schemas are needed first.
"""

GROUP = ("run_key", "parts", "contents", "said")
"""What is read of a run: rows of new events and its row of table `runs`."""


@dataclass(frozen=True)
class Derive:
    """The rules, applied to one run at a time."""

    known: Known

    def __call__(self, rows: Sequence[Row]) -> Iterator[Row]:
        """Take the rows of one run, in the columns `GROUP`; yield its row of `DERIVED`."""
        parts = {part.event_id: part for row in rows for part in read_parts(row[1])}
        carried = union([read_carried(text) for text in dict.fromkeys(row[2] for row in rows)])
        before = next((row[3] for row in rows if row[3] is not None), None)
        contents = contents_of(carried)
        missing: set[Name] = set()
        run = fold(parts.values(), self.known.naming.resolve)
        votes = self._votes(run, contents, missing)
        ordered = sorted(parts.values(), key=lambda part: part.order)
        now = {told.key: told for told in (_Told(group, vote) for group, vote in votes)}
        known = {told[0]: told[1:] for told in (read_said(before) if before else ())}
        yield (
            *_run_row(run, ordered),
            text_of([(key, *told.mark) for key, told in now.items()]),
            text_of(ordered),
            text_of(carried),
            list(self._mentions(ordered, contents)),
            [*_changed(now, known), *_gone(run, now, known)],
            text_of(sorted(missing)) if missing else None,
        )

    def _votes(
        self, run: Run, contents: ContentsInMemory, missing: set[Name]
    ) -> list[tuple[Group, Vote[Contribution]]]:
        known = self.known
        for name, columns in known.columns.items():
            contents.add_schema(name, columns)
        rules = EdgeRules(contents, known.naming.resolve, known.key, known.schema_at(missing))
        return [(group_of(run, found), vote_of(run, found)) for found in contributions(run, rules)]

    def _mentions(self, parts: Sequence[Part], contents: ContentsInMemory) -> Iterator[dict[str, str]]:
        """Yield each name that the run uses, as sent, and what it means."""
        found: dict[tuple[str, Name], Name] = {}
        for part in parts:
            for role, name in _used(part, contents):
                found[role, name] = self.known.naming.resolve(name, part.time_us)
        for (role, name), dataset in found.items():
            yield dict(zip(_MENTION.fields, (role, *name, *dataset), strict=True))


class _Told:
    """A vote as text."""

    def __init__(self, group: Group, vote: Vote[Contribution]):
        self.group, self.vote = group, vote
        self.key = key_of(group.layer, *group.job, *(group.output or (None,)))
        self.output_key = key_of(*(group.output or (None,)))
        self.content = text_of(vote.said)
        digest = key_of(self.content, text_of(vote[:-1]))
        self.mark = (self.output_key, vote.execution, digest)

    def row(self, *, replaced: bool) -> dict[str, object]:
        group, vote = self.group, self.vote
        values = (
            self.key, self.output_key, vote.run_key, vote.execution, group.layer, *group.job,
            *(group.output or (None, None)), vote.time_us, vote.tie, vote.carries, vote.landed, vote.ended, vote.drops,
            vote.said.borrowed, False, self.content, replaced,
        )  # fmt: skip
        return dict(zip(VOTE.fields, values, strict=True))


def _changed(now: dict[str, _Told], known: dict[str, list[str]]) -> Iterator[dict[str, object]]:
    for key, told in now.items():
        if list(told.mark) != known.get(key):
            yield told.row(replaced=key in known)


def _gone(run: Run, now: dict[str, _Told], known: dict[str, list[str]]) -> Iterator[dict[str, object]]:
    for key, (output_key, execution, _) in known.items():
        if key not in now:
            empty: dict[str, object] = dict.fromkeys(VOTE.fields)
            named = {"group_key": key, "output_key": output_key, "run_key": run.key, "execution": execution}
            yield {**empty, **named, "retracted": True, "replaced": True}


def _used(part: Part, contents: ContentsInMemory) -> Iterator[tuple[str, Name]]:
    for role, mentions in (("input", part.inputs), ("output", part.outputs)):
        for mention in mentions:
            yield role, mention.name
            if mention.previous:
                yield "previous", mention.previous
            for alias, _ in bindings_of(mention):
                yield "symlink", alias
    for content_hash in hashes_of(part)[1]:
        for line in contents.lineage(content_hash):
            yield from (("lineage", name) for name in (line.source, line.target) if name)


def _run_row(run: Run, parts: Sequence[Part]) -> Iterable[object]:
    last_us, received_us = max(_credible(parts)), max(part.received_us for part in parts)
    late_us = max(part.received_us - part.time_us for part in parts)
    return (
        run.key, run.kind, run.state, run.processing, *run.job, *run.job_key, run.execution, run.producer,
        run.started_us, run.ended_us, last_us, received_us, max(0, late_us) // 1_000_000, len(parts),
        any(dataset.landed for dataset in run.outputs.values()),
    )  # fmt: skip


def _credible(parts: Sequence[Part]) -> list[int]:
    return [part.time_us for part in parts if part.order.credible] or [parts[-1].time_us]
