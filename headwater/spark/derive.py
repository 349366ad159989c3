"""The parts of a run to what silver keeps of it: its state, the datasets it names, and what it says of each output."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import asdict

from headwater.lineage.contents import ContentsInMemory
from headwater.lineage.derive import group_of, vote_of
from headwater.lineage.edges import EdgeRules, contributions
from headwater.lineage.generations import EVER_US
from headwater.lineage.name import Name
from headwater.lineage.naming import bindings_of
from headwater.lineage.part import Part
from headwater.lineage.run import Run, fold
from headwater.spark.arrow import Row
from headwater.spark.known import Known, read_carried
from headwater.spark.texts import contents_of, digest_of, hashes_of, read_parts, read_said, text_of, union
from headwater.spark.votes import VOTE, VoteRow, row_of
from headwater.tables import RUN_DATASETS, RUNS, ListOf, StructOf, Table, without

_MENTION = StructOf(without(RUN_DATASETS, "run_key", "batch", "rules_hash"))

DERIVED = Table(
    "derived",
    {
        **without(RUNS, "batch", "rules_hash"),
        "datasets": ListOf(_MENTION),
        "changes": ListOf(VOTE),
        "missing": "string",
        "stored": "boolean",
    },
)
"""changes: votes that are new or other than before, and those that are `gone`.

missing: datasets whose older schemas are needed first; stored: the run has a row already.
"""

GROUP = ("run_key", "parts", "contents", "said")
"""What is read of a run: rows of new events and its row of table `runs`."""

Mark = tuple[str, str, str]
"""Of a vote the keys of its output and its execution, and a hash of all that it says."""

Now = Mapping[str, tuple[VoteRow, Mark]]
"""What a run says now, by the keys of groups."""


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
        run = fold(parts.values(), self.known.naming)
        now = {row.group_key: (row, _mark(row)) for row in self._votes(run, contents, missing)}
        ordered = sorted(parts.values(), key=lambda part: part.order)
        known: dict[str, Mark] = {told[0]: told[1:] for told in (read_said(before) if before else ())}
        yield (
            *_run_row(run, ordered),
            text_of([(key, *mark) for key, (_, mark) in now.items()]),
            text_of(ordered),
            text_of(carried),
            list(self._mentions(run, ordered, contents)),
            [*_changed(now, known), *_gone(run, now, known)],
            text_of(sorted(missing)) if missing else None,
            before is not None,
        )

    def _votes(self, run: Run, contents: ContentsInMemory, missing: set[Name]) -> Iterator[VoteRow]:
        known = self.known
        for name, columns in known.columns.items():
            contents.add_schema(name, columns)
        rules = EdgeRules(contents, known.naming, known.key, known.schema_at(missing))
        return (row_of(group_of(run, found), vote_of(run, found)) for found in contributions(run, rules))

    def _mentions(self, run: Run, parts: Sequence[Part], contents: ContentsInMemory) -> Iterator[dict[str, object]]:
        """Yield each name that the run uses, as sent, what it means, and the times of the run's events.

        What is declared is about names at any time.
        """
        found: dict[tuple[str, Name], Name] = {}
        for part in parts:
            for role, name, lifecycle in _used(part, contents):
                found[role, name] = self._meant(run, role, name, part.time_us, lifecycle)
        times = (run.started_us, run.last_us) if run.kind == "RUN" else (-EVER_US, EVER_US)
        for (role, name), dataset in found.items():
            yield dict(zip(_MENTION.fields, (role, *name.parts, *dataset, *times), strict=True))

    def _meant(self, run: Run, role: str, name: Name, time_us: int, lifecycle: str | None) -> Name:
        naming = self.known.naming
        if role in ("input", "source"):
            return naming.input(run.speaker, name, time_us)
        if role in ("output", "target"):
            return naming.output(run.speaker, name, time_us, lifecycle)
        return naming.resolve(name, time_us)


def _mark(row: VoteRow) -> Mark:
    return row.output_key, row.execution, digest_of(row)


def _changed(now: Now, known: Mapping[str, Mark]) -> Iterator[dict[str, object]]:
    for key, (row, mark) in now.items():
        if mark != known.get(key):
            yield {**asdict(row), "gone": False, "replaced": key in known}


def _gone(run: Run, now: Now, known: Mapping[str, Mark]) -> Iterator[dict[str, object]]:
    for key, (output_key, execution, _) in known.items():
        if key not in now:
            empty: dict[str, object] = dict.fromkeys(VOTE.fields)
            named = {"group_key": key, "output_key": output_key, "run_key": run.key, "execution": execution}
            yield {**empty, **named, "gone": True, "replaced": True}


def _used(part: Part, contents: ContentsInMemory) -> Iterator[tuple[str, Name, str | None]]:
    """Yield (role, name as sent, what is said to happen to the dataset)."""
    for role, mentions in (("input", part.inputs), ("output", part.outputs)):
        for mention in mentions:
            yield role, mention.name, mention.lifecycle
            if mention.previous:
                yield "previous", mention.previous, None
            for alias, _ in bindings_of(mention):
                yield "symlink", alias, None
    for content_hash in hashes_of(part)[1]:
        for line in contents.lineage(content_hash):
            for role, name in (("source", line.source), ("target", line.target)):
                if name:
                    yield role, name, None


def _run_row(run: Run, parts: Sequence[Part]) -> Iterable[object]:
    last_us, received_us = max(_credible(parts)), max(part.received_us for part in parts)
    late_us = max(part.received_us - part.time_us for part in parts)
    return (
        run.key, run.kind, run.state, run.processing, *run.job.parts, *run.job_key.parts, run.execution, run.parent,
        run.producer, run.started_us, run.ended_us, last_us, received_us, max(0, late_us) // 1_000_000, len(parts),
        any(dataset.landed for dataset in run.outputs.values()),
    )  # fmt: skip


def _credible(parts: Sequence[Part]) -> list[int]:
    return [part.time_us for part in parts if part.order.credible] or [parts[-1].time_us]
