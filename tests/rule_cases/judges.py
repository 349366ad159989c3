"""The judges of the rule cases. Each reads received events and answers questions in the format of `case.py`."""

from collections.abc import Callable
from typing import Any, Self

from headwater.lineage.names.canonical_names import default_rules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.snapshots.counted_edges import CountedEdges
from headwater.lineage.snapshots.snapshot import Snapshot
from headwater.questions.answer_types.common import Stop
from headwater.questions.reach import reach_answer
from headwater.questions.subjects import Bounds, Subject
from tests.reference import questions
from tests.reference.possible_links import possible_links
from tests.reference.records import Delivered
from tests.reference.solver import Reference
from tests.reference.spellings import spelling
from tests.reference.world_events import START_US
from tests.rule_cases.case import Ask
from tests.rule_cases.events import LAKE
from tests.support.data.lineage_world import LineageWorld, short

Column = tuple[str, str, str | None]

REASONS = {
    "used_as_a_whole": "nested",
    "attempted": "attempted",
    "never_read": "never read",
    "no_transformations": "no transformations",
    "collected": "shown",
    "a reader does not say what feeds all its columns": "unaccounted",
    "a reader's lineage names a dataset that it does not list and that may mean this one": "unlisted",
    "a column that it is nested in is read as a whole": "nested",
    "a reader reports no column lineage": "opaque",
    "a reader reports no transformation, so that its filters and joins are not seen": "no transformations",
    "a run that did not complete reads this dataset (wait for its end, or run the job again)": "attempted",
    "no reader of this dataset reports": "never read",
    "a job read this dataset to show it, and does not say which columns": "shown",
}


class Judge:
    """A judge has a method for every kind of question in `answers`. Subclasses may need to be closed."""

    answers: frozenset[str]

    def __init__(self, delivered: list[Delivered], as_of_us: int | None) -> None:
        self.delivered, self.as_of_us = delivered, as_of_us

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing. Subclasses close their resources here."""

    def answer(self, ask: Ask) -> Any:
        return getattr(self, ask.kind)(ask)


QUESTIONS = frozenset(
    {
        "surface",
        "until",
        "tagged",
        "tagged_until",
        "unused",
        "impact",
        "upstream",
        "links",
        "dropped",
        "edges",
        "spelt",
    }
)
"""The questions that the reference and the rules in memory answer."""


class Oracle(Judge):
    """The brute-force implementation of the rules."""

    answers = QUESTIONS

    def __init__(self, delivered: list[Delivered], as_of_us: int | None) -> None:
        super().__init__(delivered, as_of_us)
        self.lineage = self._see("current")

    def surface(self, ask: Ask) -> Any:
        return {told(each): exposure for each, exposure in questions.surface(self.lineage, self._sources(ask)).items()}

    def until(self, ask: Ask) -> Any:
        found = questions.exposed_until(self.lineage, self._sources(ask))
        return {told(each): second(time_us) for each, time_us in found.items()}

    def tagged(self, ask: Ask) -> Any:
        found = questions.tagged_states(self.lineage, questions.tagged(self.lineage, ask.tag))
        return {told(each): exposure for each, exposure in found.items()}

    def tagged_until(self, ask: Ask) -> Any:
        found = questions.tagged_until(self.lineage, questions.tagged(self.lineage, ask.tag))
        return {told(each): second(time_us) for each, time_us in found.items()}

    def unused(self, ask: Ask) -> Any:
        verdicts = questions.unused(self.lineage, strict=ask.strict)
        reasons = questions.unused_reasons(self.lineage, strict=ask.strict)
        return {
            str(each[2]): told_verdict(verdict, reasons.get(each, ""))
            for each, verdict in verdicts.items()
            if each[:2] == (LAKE, ask.about)
        }

    def impact(self, ask: Ask) -> Any:
        found = questions.impact(self.lineage, *column_of(ask.about), ask.mode)
        return {told(each): told_hit(*hit) for each, hit in found.items()}

    def upstream(self, ask: Ask) -> Any:
        found = questions.upstream(self.lineage, *column_of(ask.about), ask.mode)
        return {told(each): told_hit(*hit) for each, hit in found.items()}

    def links(self, ask: Ask) -> Any:
        found = possible_links(self.lineage)
        after = {f"> {link.written[1]} by {link.writer}" for link in found if link.read[1] == ask.about}
        return after | {f"< {link.read[1]} by {link.reader}" for link in found if link.written[1] == ask.about}

    def spelt(self, ask: Ask) -> Any:
        return {key: spelling(self.lineage, (LAKE, ask.about), key) for key in ask.expected}

    def dropped(self, _: Ask) -> Any:
        return {name for _, name in self.lineage.dropped}

    def edges(self, ask: Ask) -> Any:
        return {told_edge(edge) for edge in self._see(ask.view).column_edges}

    def _see(self, view: str) -> Reference:
        return Reference(self.delivered, as_of_us=self.as_of_us, view=view, canonical=canonical)

    def _sources(self, ask: Ask) -> Any:
        return questions.tagged(self.lineage, ask.tag) if ask.tag else {column_of(ask.about)}


class Memory(Judge):
    """Headwater's rules, applied to all events at once."""

    answers = QUESTIONS

    def __init__(self, delivered: list[Delivered], as_of_us: int | None) -> None:
        super().__init__(delivered, as_of_us)
        self.lineage = self._see()

    def surface(self, ask: Ask) -> Any:
        if tag := ask.tag:
            return {told(each): exposure for each, exposure in self.lineage.behind_tag(tag)[0].items()}
        return self.lineage.surface(column_of(ask.about))

    def until(self, ask: Ask) -> Any:
        if tag := ask.tag:
            return {told(each): second(time_us) for each, time_us in self.lineage.behind_tag(tag)[1].items()}
        found = self.lineage.exposed_until(column_of(ask.about))
        return {column: second(time_us) for column, time_us in found.items()}

    def tagged(self, ask: Ask) -> Any:
        return {told(each): exposure for each, exposure in self.lineage.tagged_themselves(ask.tag)[0].items()}

    def tagged_until(self, ask: Ask) -> Any:
        return {told(each): second(us) for each, us in self.lineage.tagged_themselves(ask.tag)[1].items()}

    def unused(self, ask: Ask) -> Any:
        name, scene = Name(LAKE, ask.about), self.lineage.scene
        if scene.naming.moved_names.former_location(name) or name not in scene.current_names(attempted=True):
            return {}  # a question about all datasets omits this one
        verdicts = self.lineage.unused((LAKE, ask.about), strict=ask.strict)
        reasons = self.lineage.reasons((LAKE, ask.about), strict=ask.strict)
        return {column: told_verdict(verdict, reasons[column]) for column, verdict in verdicts.items()}

    def impact(self, ask: Ask) -> Any:
        found = self.lineage.reached(column_of(ask.about), ask.mode, forward=True)
        return {told(each): told_hit(*hit) for each, hit in found.items()}

    def upstream(self, ask: Ask) -> Any:
        found = self.lineage.reached(column_of(ask.about), ask.mode, forward=False)
        return {told(each): told_hit(*hit) for each, hit in found.items()}

    def links(self, ask: Ask) -> Any:
        seen = self.lineage
        return told_links(lambda forward: linked(seen.scene, seen.counted, (LAKE, ask.about), forward=forward))

    def spelt(self, ask: Ask) -> Any:
        return spelt_by(self.lineage.scene, LAKE, ask)

    def dropped(self, _: Ask) -> Any:
        return self.lineage.dropped

    def edges(self, ask: Ask) -> Any:
        assert ask.view == "all"
        return {told_edge(edge) for edge in self._see().of_all_times().column_edges}

    def _see(self) -> LineageWorld:
        return LineageWorld(self.delivered, as_of_us=self.as_of_us)


def spelt_by(snapshot: Snapshot, namespace: str, ask: Ask) -> dict[str, str]:
    """Return the displayed spellings of the columns in a question."""
    columns = snapshot.shown_columns(Name(namespace, ask.about))
    return {key: columns.displayed_spelling(columns.key(key)) for key in ask.expected}


def linked(snapshot: Snapshot, counted: CountedEdges, name: tuple[str, str], *, forward: bool) -> list[Stop]:
    """Return the stops at a dataset."""
    asked, far = Subject(*name), Bounds(depth=1000, limit=10_000)
    found = reach_answer(snapshot, default_rules(), asked, counted, forward=forward, mode="any", bounds=far)
    return [stop for stop in found.stops if stop.dataset == name[1]]


def told_links(stops: Callable[[bool], list[Stop]]) -> set[str]:
    """Return the possible connections of a dataset in the format of `case.links`."""
    return {
        f"{sign} {link.dataset} by {link.job.name}"
        for sign, forward in ((">", True), ("<", False))
        for stop in stops(forward)
        for link in stop.may_be_connected
    }


def canonical(namespace: str, name: str) -> tuple[str, str]:
    return default_rules().canonical(namespace, name).parts


def column_of(about: str) -> tuple[str, str, str]:
    name, _, column = about.partition(".")
    return LAKE, name, column


def told(column: Any) -> str:
    return f"{short(Name(*column[:2]))}.{column[-1]}"


def told_hit(distance: int, masked: bool, before: bool = False) -> str:
    return f"{distance}{' masked' if masked else ''}{' before' if before else ''}"


def told_verdict(verdict: str, reason: str) -> str:
    rule = reason.partition(": ")[0]  # the reason continues with the readers
    return f"{verdict}: {REASONS.get(rule, rule)}" if verdict == "unknown" else verdict


def told_edge(edge: Any) -> str:
    ends = [f"{name}{generation_of(run)}.{column}" for _, name, run, column in (edge[:4], edge[4:8])]
    return " > ".join(ends) + (" indirect" if edge[8] == "INDIRECT" else "") + (" masked" if edge[9] else "")


def generation_of(run: str) -> str:
    """Return `@3` for the generation that run 3 started."""
    return f"@{int(run[-12:], 16)}" if run else ""


def second(time_us: int) -> float:
    return (time_us - START_US) / 1_000_000
