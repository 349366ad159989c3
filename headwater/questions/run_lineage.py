"""The question `run`: why a run failed, its inputs and outputs, and the runs that wrote and read them."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import UNSET, UnsetType

from headwater.events.decode import decode
from headwater.events.error_facets import ASSERTIONS, FacetError, FacetTest, TracedException, errors_in, failed_tests
from headwater.events.rule_facets import text_at
from headwater.events.times import iso_time
from headwater.index.reading.run_history import RelatedRun, RunEventPlaces, RunHistory
from headwater.lake.bronze_tables import Bronze
from headwater.lake.event_bodies import StoredBody, events_at
from headwater.lineage.names.canonical_names import NameRules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.merged_run import Run
from headwater.lineage.runs.sent_facets import canonicalizer_of, decode_members, parse_stored_event, sent_datasets
from headwater.questions.about import about_from_facets
from headwater.questions.answer_types.common import Dataset, Job
from headwater.questions.answer_types.health import NotRefreshed
from headwater.questions.answer_types.lineage import (
    AskedRun,
    ChildRun,
    ErrorCause,
    FailedTest,
    OtherRun,
    ReadByRun,
    RunError,
    RunLineage,
    WrittenByRun,
)
from headwater.questions.facets import merge_facets

_MESSAGE, _LINE, _LINES, _TELLING, _MAX_ERRORS = 4_000, 1_000, 200, 6, 50
"""Maximum characters of a message and a line, lines of an exception and of `telling`, and number of errors or tests."""


class RunContents(NamedTuple):
    """The contents of a run's events: decoded facets of run and job, errors, and failed tests."""

    run: dict[str, Any]
    job: dict[str, Any]
    errors: list[RunError]
    tests: list[FailedTest]

    @property
    def sql(self) -> str | None:
        """The SQL of the job."""
        return text_at(self.job, "sql", "query")


def read_run_contents(bronze: Bronze, names: NameRules, places: RunEventPlaces) -> RunContents:
    """Read the events of a run. Events that bronze no longer contains are skipped."""
    events = events_at(bronze, set().union(*places)) if bronze.exists() else {}
    report = [[events[place] for place in own if place in events] for own in places]
    run, job = merge_facets(report[0], "run"), merge_facets(report[1], "job")
    errors = [_to_run_error(each) for each in errors_in(run)[:_MAX_ERRORS]]
    tests = [_to_failed_test(each, None) for each in failed_tests("test", run.get("test"))]
    return RunContents(run, job, errors, [*tests, *_failed_dataset_tests(names, report[2])][:_MAX_ERRORS])


def _failed_dataset_tests(names: NameRules, events: Sequence[StoredBody]) -> Iterator[FailedTest]:
    """Yield the failed tests of datasets, each once."""
    seen: set[tuple[FacetTest, str]] = set()
    for event in events:
        wire = parse_stored_event(event.body)
        canonical = canonicalizer_of(wire, names.canonical_in_event, names.canonical_job)
        for dataset in sent_datasets(wire):
            at = Dataset(*canonical(dataset.namespace, dataset.name).parts)
            for facets in (dataset.inputFacets, dataset.outputFacets, dataset.facets):
                text = decode_members(facets).get(ASSERTIONS)
                for each in failed_tests(ASSERTIONS, decode(bytes(text)) if text else None, wire.producer):
                    if (key := (each, str(at))) not in seen:
                        seen.add(key)
                        yield _to_failed_test(each, at)


def _to_failed_test(report: FacetTest, dataset: Dataset | None) -> FailedTest:
    facet, _, name, *more = report
    return FailedTest(facet, dataset, name[:_LINE], *(each and each[:_LINE] for each in more))


def _to_run_error(report: FacetError) -> RunError:
    message, task = report.message[:_MESSAGE], report.task and report.task[:_MESSAGE]
    return RunError(report.facet, report.of, message, task, [_to_error_cause(each) for each in report.causes])


def _to_error_cause(raised: TracedException) -> ErrorCause:
    near, limited = (
        (slice(-_TELLING, None), slice(-_LINES, None)) if raised.is_python else (slice(_TELLING), slice(_LINES))
    )
    shown = [line[:_LINE] for line in raised.trace[limited]]
    return ErrorCause(raised.what[:_LINE], shown[near], shown, len(raised.trace) - len(shown))


_CHILDREN = 200
_FILES = 20
"""Maximum number of files of one folder, extension and schema that are listed separately."""

_FILE = re.compile(r"(.*/)[^/]+?((?:\.[A-Za-z][A-Za-z0-9]{0,7}){1,3})", re.DOTALL)


def run_lineage(runs: RunHistory, key: str, contents: RunContents, not_refreshed: list[NotRefreshed]) -> RunLineage:
    """Answer the inputs and outputs of a run with the runs that wrote and read them, and its child runs.

    contents: errors, tests, SQL and facets of its events. not_refreshed: datasets that it did not refresh.
    """
    run = runs.merged_run(key)
    unread = runs.unread_sql_reasons(run.key) if run.script else {}
    children = [ChildRun(*_run_for_answer(each), each.state) for each in runs.runs_of_execution(run.key, _CHILDREN + 1)]
    return RunLineage(
        AskedRun(
            run.key, Job(*run.job.parts), run.state, run.execution, iso_time(run.started_us), iso_time(run.ended_us)
        ),
        contents.errors,
        contents.tests,
        contents.sql,
        about_from_facets({**contents.job, "tags": contents.run.get("tags")}),
        not_refreshed,
        [
            _to_read_by_run(runs, names, run)
            for names in group_files({*run.inputs, *runs.datasets_read_by(run.key)}, runs.newest_schema_hash)
        ],
        [_to_written_by_run(runs, names, run, unread) for names in group_files(run.outputs, runs.newest_schema_hash)],
        children[:_CHILDREN],
        len(children) > _CHILDREN,
    )


def group_files(names: Iterable[Name], schema: Callable[[Name], str | None]) -> list[tuple[Name, ...]]:
    """Return sorted datasets.

    More than 20 files of one folder, extension and schema form one group. schema: returns the schema hash of a dataset.
    """
    found: defaultdict[tuple[str, ...], list[Name]] = defaultdict(list)
    for name in sorted(names):
        file = _FILE.fullmatch(name.name)
        key = (name.namespace, file[1], file[2], schema(name) or "") if file else (*name.parts, name.generation)
        found[key].append(name)
    whole = (tuple(each) for each in found.values() if len(each) > _FILES)
    single = ((name,) for each in found.values() if len(each) <= _FILES for name in each)
    return sorted([*whole, *single])


def _to_read_by_run(runs: RunHistory, names: tuple[Name, ...], run: Run) -> ReadByRun:
    writers = [found for name in names if (found := runs.previous_writer(name, run.time_us, run.key))]
    newest = max(writers, key=lambda each: (each.time_us, each.key), default=None)
    return ReadByRun(
        *_name_of_files(names), OtherRun(*_run_for_answer(newest)) if newest else None, files=_file_count(names)
    )


def _to_written_by_run(runs: RunHistory, names: tuple[Name, ...], run: Run, unread: Mapping[Name, str]) -> WrittenByRun:
    readers = {each.key: each for name in names for each in runs.readers_until_next_write(name, run.time_us)}
    why = next((unread[name.without_generation] for name in names if name.without_generation in unread), None)
    sources = {found for name in names if (found := runs.rewrite_source(name, run.key))}
    rewrite = next((each for each in ("reported", "committed", "declared") if each in sources), UNSET)
    return WrittenByRun(
        *_name_of_files(names),
        [OtherRun(*_run_for_answer(each)) for each in readers.values()],
        why,
        rewrite=rewrite,
        files=_file_count(names),
    )


def _name_of_files(names: tuple[Name, ...]) -> tuple[str, str]:
    file = _FILE.fullmatch(names[0].name) if len(names) > 1 else None
    return (names[0].namespace, f"{file[1]}*{file[2]}") if file else names[0].parts


def _file_count(names: tuple[Name, ...]) -> int | UnsetType:
    return len(names) if len(names) > 1 else UNSET


def _run_for_answer(run: RelatedRun) -> tuple[str, str | None, Job]:
    return run.key, iso_time(run.time_us), Job(*run.job.parts)
