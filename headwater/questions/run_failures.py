"""Why a run failed: errors and tests that its events tell of, and its SQL, by bronze."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from headwater.events.decode import decode
from headwater.events.error_facets import ASSERTIONS, ToldError, ToldTest, errors_in, failed_tests
from headwater.events.rule_facets import text_at
from headwater.events.stack_traces import Raised
from headwater.index.reading.run_history import RunPlaces
from headwater.lake.bronze_tables import Bronze
from headwater.lake.event_bodies import StoredBody, events_at
from headwater.lineage.names.canonical_names import NameRules
from headwater.lineage.runs.sent_facets import canonical_in, members, read_stored, sent_datasets
from headwater.questions.answers.answer_parts import Dataset
from headwater.questions.answers.lineage_answers import ErrorCause, FailedTest, RunError
from headwater.questions.facet_values import told_together

_MESSAGE, _LINE, _LINES, _TELLING, _TOLD = 4_000, 1_000, 200, 6, 50
"""Most characters of a message and of a line, lines of one exception, of them the telling ones, errors or tests."""


class RunWords(NamedTuple):
    """What a run's events say: facets of run and job, decoded; errors, failed tests."""

    run: dict[str, Any]
    job: dict[str, Any]
    errors: list[RunError]
    tests: list[FailedTest]

    @property
    def sql(self) -> str | None:
        """Its SQL text."""
        return text_at(self.job, "sql", "query")


def read_words(bronze: Bronze, names: NameRules, places: RunPlaces) -> RunWords:
    """Read what the events of a run say; of those that bronze has no more nothing."""
    events = events_at(bronze, set().union(*places)) if bronze.exists() else {}
    told = [[events[place] for place in own if place in events] for own in places]
    run, job = told_together(told[0], "run"), told_together(told[1], "job")
    errors = [_error(each) for each in errors_in(run)[:_TOLD]]
    tests = [_test(each, None) for each in failed_tests("test", run.get("test"))]
    return RunWords(run, job, errors, [*tests, *_assertions(names, told[2])][:_TOLD])


def _assertions(names: NameRules, events: Sequence[StoredBody]) -> Iterator[FailedTest]:
    """Yield the tests of datasets that failed, each once however many events say so."""
    seen: set[tuple[ToldTest, str]] = set()
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


def _test(told: ToldTest, dataset: Dataset | None) -> FailedTest:
    facet, name, *more = told
    return FailedTest(facet, dataset, name[:_LINE], *(each and each[:_LINE] for each in more))


def _error(told: ToldError) -> RunError:
    message, task = told.message[:_MESSAGE], told.task and told.task[:_MESSAGE]
    return RunError(told.facet, told.of, message, task, [_cause(each) for each in told.causes])


def _cause(raised: Raised) -> ErrorCause:
    near, kept = (
        (slice(-_TELLING, None), slice(-_LINES, None)) if raised.is_python else (slice(_TELLING), slice(_LINES))
    )
    shown = [line[:_LINE] for line in raised.trace[kept]]
    return ErrorCause(raised.what[:_LINE], shown[near], shown, len(raised.trace) - len(shown))
