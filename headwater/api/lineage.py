"""The questions about lineage, each by its name and parameters; the HTTP routes and the command line share them."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from headwater.api.facets import sql_of_run
from headwater.api.query import check_names, flag, number
from headwater.api.questions import moment_us
from headwater.errors import InvalidEvent, NotKnown, WrongQuestion
from headwater.events.event_files import read_event_texts
from headwater.index.lens import Lens, Lenses, Sight, read_view
from headwater.lake.bronze import Bronze
from headwater.lineage.contents import ContentsInMemory
from headwater.lineage.generations import EVER_US
from headwater.lineage.masking import remasked
from headwater.lineage.reading import PartReader
from headwater.lineage.snapshot_of_parts import SnapshotOfParts
from headwater.lineage.user_rules import UserRules
from headwater.questions.asking import Subject, read_bounds, read_mode
from headwater.questions.coverage import coverage
from headwater.questions.differences import difference
from headwater.questions.exposure import Place, exposures, look_for, read_exposure
from headwater.questions.reach import path, reach
from headwater.questions.verdicts import verdicts
from headwater.questions.why import why

Parameters = Mapping[str, str]
Answer = dict[str, Any]

LENS = ("view", "asOf", "knownAt", "seenSince")
_SUBJECT = ("namespace", "dataset", "column")
_ENDS = ("fromNamespace", "fromDataset", "fromColumn", "toNamespace", "toDataset", "toColumn")


def ask(lenses: Lenses, question: str, parameters: Parameters) -> Answer:
    """Answer a question.

    Raises WrongQuestion for parameters that are missing, unknown or not of their form, NotKnown for names,
    LakeUnavailable while the index is being built.
    """
    allowed, answer = QUESTIONS[question]
    check_names(question, parameters, (*allowed, *LENS))
    with lenses.look(read_lens(parameters)) as sight:
        return answer(lenses, sight, parameters)


def read_lens(parameters: Parameters) -> Lens:
    """Read the parameters that every question takes."""
    times = {name: moment_us(name, parameters[name]) for name in LENS[1:] if parameters.get(name)}
    return Lens(times.get("asOf"), times.get("knownAt"), times.get("seenSince"), read_view(parameters.get("view")))


def _reach(sight: Sight, parameters: Parameters, *, forward: bool) -> Answer:
    return reach(
        sight.moment,
        sight.rules.names,
        subject(parameters),
        sight.view,
        forward=forward,
        mode=read_mode(parameters.get("mode")),
        bounds=read_bounds(number(parameters, "depth"), number(parameters, "limit")),
        roots=flag(parameters, "roots"),
        paths=flag(parameters, "paths"),
    )


def _path(_: Lenses, sight: Sight, parameters: Parameters) -> Answer:
    start, end = _end(parameters, "from"), _end(parameters, "to")
    mode = read_mode(parameters.get("mode"))
    return path(sight.moment, sight.rules.names, start, end, sight.view, mode=mode)


def _why(_: Lenses, sight: Sight, parameters: Parameters) -> Answer:
    return why(sight.moment, sight.rules.names, _end(parameters, "from"), _end(parameters, "to"), sight.view)


def _unused(_: Lenses, sight: Sight, parameters: Parameters) -> Answer:
    asked = subject(parameters) if parameters.get("dataset") else None
    limit = read_bounds(None, number(parameters, "limit")).limit
    strict = flag(parameters, "strict")
    return verdicts(sight.moment, sight.rules, sight.view, asked=asked, limit=limit, strict=strict)


def _coverage(_: Lenses, sight: Sight, parameters: Parameters) -> Answer:
    return coverage(sight.moment, sight.view, limit=read_bounds(None, number(parameters, "limit")).limit)


def surface(lenses: Lenses, parameters: Parameters) -> Answer:
    """Answer the masking surface; with `since` only what was not exposed then and is now."""
    check_names("surface", parameters, (*_SUBJECT, "tag", "since", "exposure", "limit", *LENS))
    lens, limit = read_lens(parameters), read_bounds(None, number(parameters, "limit")).limit
    tag, source = parameters.get("tag") or "pii", subject(parameters) if parameters.get("dataset") else None
    before: set[Place] | None = None
    only = read_exposure(parameters.get("exposure"))
    if parameters.get("since"):
        with lenses.look(lens._replace(as_of_us=moment_us("since", parameters["since"]))) as then, suppress(NotKnown):
            before = set()  # of a tag or a dataset that was not known then nothing was exposed
            before = look_for(then.moment, then.rules, then.view, tag=tag, source=source).exposed(then.moment)
    with lenses.look(lens) as now:
        found = look_for(now.moment, now.rules, now.view, tag=tag, source=source)
        return exposures(now.moment, found, tag=tag, limit=limit, but=before, only=only)


def diff(lenses: Lenses, parameters: Parameters) -> Answer:
    """Answer what changed between the moments `from` and `to` (now without it)."""
    check_names("diff", parameters, ("from", "to", "limit"))
    if not parameters.get("from"):
        raise WrongQuestion("diff needs from=TIME, such as 2026-03-01T00:00:00Z; to=TIME is now where it is missing.")
    limit = read_bounds(None, number(parameters, "limit")).limit
    start = Lens(as_of_us=moment_us("from", parameters["from"]))
    end = Lens(as_of_us=moment_us("to", parameters["to"]) if parameters.get("to") else None)
    with lenses.look(start) as before:
        old = (before.moment, before.view)
    with lenses.look(end) as after:
        return difference(old, (after.moment, after.view), limit=limit)


def diff_files(rules: UserRules, before: Path, after: Path, limit: int | None) -> Answer:
    """Answer what changed between two runs of one pipeline, each a file of its events."""
    old, new = (_moment_of(rules, path) for path in (before, after))
    return difference((old, old.view()), (new, new.view()), limit=read_bounds(None, limit).limit)


def _moment_of(rules: UserRules, path: Path) -> SnapshotOfParts:
    contents = ContentsInMemory()
    reader = PartReader(rules.names.canonical, contents)
    parts = []
    for event in read_event_texts(path):
        if event.text is None:
            raise WrongQuestion(f"{path}, line {event.line} is too long to be an event.")
        try:
            text = event.text.decode("utf-8", "replace")
            parts.append(reader.read(sha256(event.text).hexdigest()[:32], EVER_US, text))
        except InvalidEvent as error:
            raise WrongQuestion(f"{path}, line {event.line} is no event: {error}") from error
    return SnapshotOfParts(parts, contents, partial(remasked, rules))


def edge(lenses: Lenses, bronze: Bronze, parameters: Parameters) -> Answer:
    """Answer why an edge is there, with the SQL of the newest run of each job that reports any."""
    found = ask(lenses, "edge", parameters)
    for item in found["items"][:_SQL_SHOWN]:
        item["sql"] = sql_of_run(bronze, item["newest_run"]) if item["newest_run"] else None
    return found


def subject(parameters: Parameters) -> Subject:
    """Read which dataset and column are meant; raises WrongQuestion without a dataset."""
    if not parameters.get("dataset"):
        raise WrongQuestion("dataset= is missing. Name a dataset, with namespace= or as the unique end of its name.")
    return Subject(parameters.get("namespace") or None, parameters["dataset"], parameters.get("column") or None)


def _end(parameters: Parameters, side: str) -> Subject:
    dataset = parameters.get(f"{side}Dataset")
    if not dataset:
        raise WrongQuestion(f"{side}Dataset= is missing. Name both ends: {', '.join(_ENDS)}.")
    return Subject(parameters.get(f"{side}Namespace") or None, dataset, parameters.get(f"{side}Column") or None)


_SQL_SHOWN = 5

_WALK = (*_SUBJECT, "mode", "depth", "limit", "roots", "paths")

QUESTIONS: dict[str, tuple[tuple[str, ...], Callable[[Lenses, Sight, Parameters], Answer]]] = {
    "impact": (_WALK, lambda _, sight, parameters: _reach(sight, parameters, forward=True)),
    "upstream": (_WALK, lambda _, sight, parameters: _reach(sight, parameters, forward=False)),
    "path": ((*_ENDS, "mode"), _path),
    "edge": (_ENDS, _why),
    "unused": (("namespace", "dataset", "limit", "strict"), _unused),
    "coverage": (("limit",), _coverage),
}
"""Question → its parameters beside those of time, and what answers it."""
