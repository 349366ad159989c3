"""Errors, failed tests and SQL of a run, from its events in bronze."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from headwater.events.decode import decode
from headwater.events.error_facets import ASSERTIONS, FacetError, FacetTest, TracedException, errors_in, failed_tests
from headwater.events.rule_facets import text_at
from headwater.index.reading.run_history import RunPlaces
from headwater.lake.bronze_tables import Bronze
from headwater.lake.event_bodies import StoredBody, events_at
from headwater.lineage.names.canonical_names import NameRules
from headwater.lineage.runs.sent_facets import canonical_in, members, read_stored, sent_datasets
from headwater.questions.answers.answer_parts import Dataset
from headwater.questions.answers.lineage_answers import ErrorCause, FailedTest, RunError
from headwater.questions.facet_values import merge_facets

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


def read_run_contents(bronze: Bronze, names: NameRules, places: RunPlaces) -> RunContents:
    """Read the events of a run. Events that bronze no longer contains are skipped."""
    events = events_at(bronze, set().union(*places)) if bronze.exists() else {}
    report = [[events[place] for place in own if place in events] for own in places]
    run, job = merge_facets(report[0], "run"), merge_facets(report[1], "job")
    errors = [_error(each) for each in errors_in(run)[:_MAX_ERRORS]]
    tests = [_test(each, None) for each in failed_tests("test", run.get("test"))]
    return RunContents(run, job, errors, [*tests, *_assertions(names, report[2])][:_MAX_ERRORS])


def _assertions(names: NameRules, events: Sequence[StoredBody]) -> Iterator[FailedTest]:
    """Yield the failed tests of datasets, each once."""
    seen: set[tuple[FacetTest, str]] = set()
    for event in events:
        wire = read_stored(event.body)
        canonical = canonical_in(wire, names.in_event, names.job)
        for dataset in sent_datasets(wire):
            at = Dataset(*canonical(dataset.namespace, dataset.name).parts)
            for facets in (dataset.inputFacets, dataset.outputFacets, dataset.facets):
                text = members(facets).get(ASSERTIONS)
                for each in failed_tests(ASSERTIONS, decode(bytes(text)) if text else None):
                    if (key := (each, str(at))) not in seen:
                        seen.add(key)
                        yield _test(each, at)


def _test(report: FacetTest, dataset: Dataset | None) -> FailedTest:
    facet, name, *more = report
    return FailedTest(facet, dataset, name[:_LINE], *(each and each[:_LINE] for each in more))


def _error(report: FacetError) -> RunError:
    message, task = report.message[:_MESSAGE], report.task and report.task[:_MESSAGE]
    return RunError(report.facet, report.of, message, task, [_cause(each) for each in report.causes])


def _cause(raised: TracedException) -> ErrorCause:
    near, limited = (
        (slice(-_TELLING, None), slice(-_LINES, None)) if raised.is_python else (slice(_TELLING), slice(_LINES))
    )
    shown = [line[:_LINE] for line in raised.trace[limited]]
    return ErrorCause(raised.what[:_LINE], shown[near], shown, len(raised.trace) - len(shown))
