"""Incidents: one case for each rule of docs/reference/incidents.md, and the identity of incidents.

All cases share one lake, each with its own namespace, because building a lake takes a second.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from headwater.index.reading.measures import DatasetMeasures
from headwater.index.reading.view_opener import ViewOpener
from headwater.lineage.snapshots.as_of import AsOf
from headwater.operations.runtime.index import open_view_opener
from headwater.questions.answer_types.incidents import Incidents
from headwater.questions.health_reader import HealthCache, HealthReader
from headwater.questions.incidents.answer import IncidentPeriod, RecentAnswers
from headwater.questions.unusual_volumes import VolumeCache
from tests.reference.small_events import CLEAR, made
from tests.reference.world_events import Json, at, dataset, facet, parent, run_event, source, uuid
from tests.support.data.parsing import World
from tests.support.data.samples import body
from tests.support.paths import ROOT
from tests.support.questions import ask

HOUR, DAY = 3_600, 86_400
NOW = 100 * DAY

_ids = (uuid((1 << 40) + number) for number in count())


class Night:
    """The events of a case, whose jobs and datasets have its namespace.

    `later` marks the start of the events that follow the first answer.
    """

    def __init__(self, space: str) -> None:
        self.space = space
        self.events: list[bytes] = []
        self.first_events: list[bytes] | None = None

    def later(self) -> None:
        self.first_events = [*self.events]

    def named(self, name: str) -> tuple[str, str]:
        return f"s3://{self.space}", name

    def run(
        self, kind: str, second: float, job: str, output: str | None = None, *reads: str, space: str | None = None,
        error: str | None = None, under: str | None = None, dag: str = "dag", columns: str = "x", **more: Any,
    ) -> str:  # fmt: skip
        """Record a run that started a minute before its end. Returns its id."""
        run, told = more.pop("run", None) or next(_ids), dict(more.pop("run_facets", {}))
        job_space = space or self.space
        if error:
            told["errorMessage"] = facet(
                message=error, programmingLanguage="PYTHON",
                stackTrace=f'Traceback (most recent call last):\n  File "load.py", line 7, in load\n{error}',
            )  # fmt: skip
        if under:
            told["parent"] = parent(under, (job_space, dag), under)
        fields = {column: [source(self.named(read), "x", CLEAR) for read in reads] for column in columns.split()}
        change = {"lifecycleStateChange": facet(lifecycleStateChange="OVERWRITE")} if more.pop("replaces", 0) else {}
        outputs = [made(self.named(output), fields, columns=columns, **change)] if output else []
        sent: Json = {"inputs": [dataset(self.named(read)) for read in reads], "outputs": outputs} | more
        producer = {"producer": sent.pop("producer")} if "producer" in sent else {}
        times = {"START": second - 60} | {kind: second}
        for each, second_of in times.items():
            event = run_event(each, at(second_of), run, (job_space, job), run_facets=told, **sent)
            self.events.append(body(event | producer))
        return run

    def daily(
        self, job: str, output: str | None, *reads: str, until: float = NOW - DAY, times: int = 8, **more: Any
    ) -> None:
        """Record a completed run on each day, the last one at `until`."""
        for day in range(times):
            self.run("COMPLETE", until - day * DAY, job, output, *reads, **more)

    def test(self, second: float, of: str, *results: Json, kind: str = "COMPLETE", **more: Any) -> str:
        """Record a run of tests, as dbt reports them."""
        tested = dataset(self.named(of)) | {"inputFacets": {"dataQualityAssertions": facet(assertions=list(results))}}
        return self.run(kind, second, f"{of}.test", inputs=[tested], **more)

    def rewrite(
        self, second: float, rows: int, job: str = "load", output: str = "orders", read: str = "feed"
    ) -> str:  # fmt: skip
        """Record a run that replaces all rows of a dataset, and return its id."""
        told = made(self.named(output), {"x": [source(self.named(read), "x", CLEAR)]}, columns="x")
        told["facets"]["lifecycleStateChange"] = facet(lifecycleStateChange="OVERWRITE")
        told["outputFacets"] = {"outputStatistics": facet(rowCount=rows, size=rows)}
        return self.run("COMPLETE", second, job, inputs=[dataset(self.named(read))], outputs=[told])


def result(name: str, *, success: bool, column: str | None = "id", **more: Any) -> Json:
    of_column = {"column": column} if column else {}
    return {"assertion": name, "name": name, "success": success, "severity": "error"} | of_column | more


class Case(NamedTuple):
    """The events of a case, and values that its test needs, such as run ids."""

    night: Night
    known: Any


CASES: dict[str, Case] = {}


def case(tell: Callable[[Night], Any]) -> Callable[[Night], Any]:
    """Register a function that records the events of a case, under the name of the function."""
    night = Night(tell.__name__)
    CASES[tell.__name__] = Case(night, tell(night))
    return tell


Items = list[Any]


class Answers(NamedTuple):
    """The incidents of a case: at first, later, and on request."""

    first: Items
    later: Items
    known: Any
    ask: Callable[..., Items]


class Lake(NamedTuple):
    """The lake of all cases, with the answers at both times."""

    first: Any
    later: Any
    views: ViewOpener
    world: World


def _bring(world: World, events: Sequence[bytes], batches: int = 1) -> None:
    size = max(1, -(-len(events) // batches))
    for begin in range(0, len(events), size):
        world.append(*events[begin : begin + size])
        while world.parser().commit_next():
            pass


def _ask(views: ViewOpener, world: World, now: float = NOW, **more: str) -> Any:
    return ask(views, "incidents", {"asOf": at(now), "limit": "10000", **more}, bronze=world.bronze)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    world = World(tmp_path_factory.mktemp("incidents") / "data")
    nights = [each.night for each in CASES.values()]
    _bring(world, [event for night in nights for event in night.first_events or night.events])
    views = open_view_opener(world.settings, world.folder)
    first = _ask(views, world)
    _bring(
        world, [event for night in nights if night.first_events for event in night.events[len(night.first_events) :]]
    )
    views.close()
    views = open_view_opener(world.settings, world.folder)
    yield Lake(first, _ask(views, world), views, world)
    views.close()


@pytest.fixture
def answers(lake: Lake) -> Callable[[Callable[[Night], Any]], Answers]:
    """Return a function that returns the answers of a case."""

    def answers_of(tell: Callable[[Night], Any]) -> Answers:
        def own(found: Any) -> Items:
            spaces = {each.format(tell.__name__) for each in ("{}", "s3://{}", "{}_silent", "{}_alone")}
            return [each for each in found["items"] if each["subject"]["namespace"] in spaces]

        return Answers(
            own(lake.first), own(lake.later), CASES[tell.__name__].known,
            lambda **more: own(_ask(lake.views, lake.world, **more)),
        )  # fmt: skip

    return answers_of


Asked = Callable[[Callable[[Night], Any]], Answers]


def _short(items: Items) -> list[tuple[str, str, str]]:
    return sorted(
        (each["kind"], each["subject"]["name"] or each["subject"]["namespace"], each["state"]) for each in items
    )


def _affected(incident: Any) -> list[tuple[str, int]]:
    return [(each["dataset"], each["distance"]) for each in incident["affected"]]


@case
def spell(night: Night) -> Any:
    night.daily("load", "orders")
    first = night.run("FAIL", NOW - 6 * HOUR, "load", "orders", error="OSError: disk full")
    second = night.run("FAIL", NOW - 5 * HOUR, "load", "orders", error="OSError: disk full")
    night.later()
    night.run("COMPLETE", NOW - 4 * HOUR, "load", "orders")
    return [first, second]


def test_a_spell_of_failures_is_one_incident_until_the_job_completes(answers: Asked) -> None:
    found = answers(spell)
    (incident,) = found.first
    assert _short(found.first) == [("run.failed", "load", "open")]
    assert [each["id"] for each in incident["failures"]] == found.known
    assert (incident["opened"], incident["resolved"]) == (at(NOW - 6 * HOUR), None)
    assert incident["error"] == {"message": "OSError: disk full", "frame": 'File "load.py", line 7, in load'}
    assert incident["summary"] == "Job load failed: OSError: disk full. Not up to date: spell/orders."
    (later,) = found.later
    assert (later["id"], later["state"], later["resolved"]) == (incident["id"], "resolved", at(NOW - 4 * HOUR))
    assert _affected(later) == []
    assert found.ask(since=at(NOW - 3 * HOUR)) == [], "the incident ended before this time"
    assert [(each["id"], each["state"]) for each in found.ask(now=NOW - 4.5 * HOUR)] == [(incident["id"], "open")]


@case
def tasks(night: Night) -> None:
    for day in (1, 0):
        whole, kind = uuid(day + 7), "COMPLETE" if day else "FAIL"
        night.run(kind, NOW - 3 * HOUR - day * DAY, "dag.one", "one", under=whole, error="one broke")
        night.run(kind, NOW - 2 * HOUR - day * DAY, "dag.two", "two", under=whole, error="two broke")
        night.run(kind, NOW - HOUR - day * DAY, "dag", run=whole)


def test_a_dag_and_its_failed_task_are_one_incident_but_two_tasks_are_two(answers: Asked) -> None:
    found = answers(tasks).first
    assert _short(found) == [("run.failed", "dag.one", "open"), ("run.failed", "dag.two", "open")]
    failures = {each["subject"]["name"]: [run["job"]["name"] for run in each["failures"]] for each in found}
    assert failures == {"dag.one": ["dag.one", "dag"], "dag.two": ["dag.two"]}


@case
def recovered_task(night: Night) -> None:
    for day in (1, 0):
        whole, kind = uuid(day + 21), "COMPLETE" if day else "FAIL"
        night.run(kind, NOW - 4 * HOUR - day * DAY, "dag.one", "one", under=whole)
        night.run("COMPLETE", NOW - 3 * HOUR - day * DAY, "dag.one", "one", under=whole)
        for name in ("three", "two"):
            night.run(kind, NOW - 2 * HOUR - day * DAY, f"dag.{name}", name, under=whole)
        night.run(kind, NOW - HOUR - day * DAY, "dag", run=whole)


def test_the_run_of_a_dag_belongs_to_the_first_failure_that_had_not_recovered(answers: Asked) -> None:
    found = answers(recovered_task).first
    failures = {each["subject"]["name"]: [run["job"]["name"] for run in each["failures"]] for each in found}
    assert failures == {"dag.one": ["dag.one"], "dag.three": ["dag.three", "dag"], "dag.two": ["dag.two"]}
    assert {each["subject"]["name"]: each["state"] for each in found}["dag.one"] == "resolved"


@case
def two_causes(night: Night) -> None:
    whole = uuid(25)
    night.daily("load", "raw", until=NOW - DAY)
    night.run("FAIL", NOW - 6 * HOUR, "load", "raw")
    night.run("FAIL", NOW - 5 * HOUR, "dag.own", "own", "feed", under=whole)
    night.run("FAIL", NOW - 4 * HOUR, "dag.clean", "clean", "raw", under=whole)
    night.run("FAIL", NOW - 3 * HOUR, "dag", run=whole)


def test_the_run_of_a_dag_belongs_to_its_first_failure_not_to_the_oldest_incident(answers: Asked) -> None:
    found = answers(two_causes).first
    failures = {each["subject"]["name"]: [run["job"]["name"] for run in each["failures"]] for each in found}
    assert failures == {"load": ["load", "dag.clean"], "dag.own": ["dag.own", "dag"]}


@case
def all_recovered(night: Night) -> None:
    whole = uuid(23)
    night.run("FAIL", NOW - 4 * HOUR, "dag.one", under=whole)
    night.run("COMPLETE", NOW - 3 * HOUR, "dag.one", under=whole)
    night.run("FAIL", NOW - HOUR, "dag", run=whole)


def test_a_dag_that_fails_after_all_its_tasks_recovered_is_an_incident_of_its_own(answers: Asked) -> None:
    assert _short(answers(all_recovered).first) == [
        ("run.failed", "dag", "open"),
        ("run.failed", "dag.one", "resolved"),
    ]


@case
def consequence(night: Night) -> None:
    night.daily("load", "raw", until=NOW - DAY)
    night.daily("clean", "clean", "raw", until=NOW - DAY + HOUR)
    night.daily("other", "other", "feed", until=NOW - DAY + HOUR)
    night.run("FAIL", NOW - 6 * HOUR, "load", "raw", error="no space")
    night.run("FAIL", NOW - 5 * HOUR, "clean", "clean", "raw", error="raw is old")
    night.run("FAIL", NOW - 5 * HOUR, "other", "other", "feed", error="another one")
    night.later()
    night.run("COMPLETE", NOW - 4 * HOUR, "load", "raw")


def test_a_failure_that_reads_an_affected_dataset_belongs_to_its_cause(answers: Asked) -> None:
    found = answers(consequence)
    assert _short(found.first) == [("run.failed", "load", "open"), ("run.failed", "other", "open")]
    (cause,) = [each for each in found.first if each["subject"]["name"] == "load"]
    assert [each["job"]["name"] for each in cause["failures"]] == ["load", "clean"]
    assert (cause["error"]["message"], _affected(cause)) == ("no space", [("raw", 0), ("clean", 1)])
    (later,) = [each for each in found.later if each["subject"]["name"] == "load"]
    assert (later["id"], later["state"], _affected(later)) == (cause["id"], "open", [("clean", 1)]), "clean still fails"


@case
def upstream_task(night: Night) -> None:
    whole = uuid(9)
    night.run("FAIL", NOW - 3 * HOUR, "dag.first", under=whole, error="broke")
    told = {"airflow": facet(task={"task_id": "second", "upstream_task_ids": "['first']"})}
    night.run("FAIL", NOW - 2 * HOUR, "dag.second", under=whole, run_facets=told)
    night.run("FAIL", NOW - 1 * HOUR, "dag.third", under=whole)


def test_a_task_that_names_the_failed_task_as_upstream_belongs_to_it(answers: Asked) -> None:
    expected = [("run.failed", "dag.first", "open"), ("run.failed", "dag.third", "open")]
    assert _short(answers(upstream_task).first) == expected


@case
def refreshed(night: Night) -> None:
    for job, output, read in (("load", "a", "feed"), ("to_b", "b", "a"), ("to_c", "c", "b"), ("to_d", "d", "a")):
        night.daily(job, output, read)
    night.run("FAIL", NOW - 6 * HOUR, "load", "a", "feed")
    night.run("COMPLETE", NOW - 5 * HOUR, "to_d", "d", "a")
    night.later()
    night.run("COMPLETE", NOW - 4 * HOUR, "load", "a", "feed")
    night.run("COMPLETE", NOW - 3 * HOUR, "to_b", "b", "a")


def test_datasets_are_affected_until_a_run_that_began_after_their_inputs_wrote_them(answers: Asked) -> None:
    found = answers(refreshed)
    assert _affected(found.first[0]) == [("a", 0), ("b", 1), ("d", 1), ("c", 2)], "d was written with an old input"
    assert _short(found.later) == [("run.failed", "load", "resolved")]
    assert _affected(found.later[0]) == [("d", 1), ("c", 2)]


@case
def failed_test(night: Night) -> Any:
    build = uuid(11)
    night.daily("model", "orders", "raw")
    night.daily("mart", "mart", "orders")
    night.test(NOW - DAY, "orders", result("unique", success=True), result("not_null", success=True))
    results = (
        result("unique", success=False, expected="0", actual="3"), result("not_null", success=True),
        result("fresh", success=False, column=None, severity="warn"),
    )  # fmt: skip
    failed = night.test(NOW - 3 * HOUR, "orders", *results, kind="FAIL", under=build, dag="dbt-run-shop")
    night.run("FAIL", NOW - 2 * HOUR, "dbt-run-shop", run=build)
    night.later()
    night.test(NOW - HOUR, "orders", result("unique", success=True), result("fresh", success=True, column=None))
    return failed, build


def test_a_failed_test_belongs_to_its_column_with_its_failed_runs(answers: Asked) -> None:
    found = answers(failed_test)
    failed, build = found.known
    assert _short(found.first) == [("test.failed", "orders", "open")] * 2
    error, warning = found.first
    assert (error["severity"], error["subject"]["column"], error["subject"]["test"]) == ("error", "id", "unique")
    assert (warning["severity"], warning["subject"]["column"], warning["subject"]["test"]) == ("warning", None, "fresh")
    assert [each["id"] for each in error["failures"]] == [failed, build]
    assert error["summary"].startswith(
        "Test unique on column id of dataset failed_test/orders failed: expected 0, got 3."
    )
    assert _affected(error) == [("orders", 0), ("mart", 1)]
    assert _affected(warning) == [("orders", 0)], "a warning does not affect downstream datasets"
    assert [(each["state"], _affected(each)) for each in found.later] == [
        ("resolved", [("mart", 1)]),
        ("resolved", []),
    ], "mart still contains rows from the time of the failure"


@case
def skipped_test(night: Night) -> None:
    build, dbt = uuid(31), "https://github.com/OpenLineage/OpenLineage/tree/1.54.0/integration/dbt"
    night.daily("model", "orders", "raw")
    night.daily("mart", "a_mart", "orders")
    skipped = result("unique", success=False)
    night.test(NOW - 3 * HOUR, "a_mart", skipped, kind="FAIL", under=build, dag="build", producer=dbt)
    results = (
        result("b_error", success=False, actual="1"), result("c_error", success=False, actual="1"),
        result("a_warning", success=False, actual="1", severity="warn"),
    )  # fmt: skip
    night.test(NOW - 3 * HOUR, "orders", *results, kind="FAIL", under=build, dag="build", producer=dbt)
    night.run("FAIL", NOW - 2 * HOUR, "build", run=build)
    night.test(NOW - HOUR, "elsewhere", skipped, kind="FAIL", producer=dbt)


def test_the_run_of_a_skipped_test_belongs_to_what_affects_the_dataset(answers: Asked) -> None:
    found = answers(skipped_test).first
    failures = {
        (each["subject"]["name"], each["subject"]["test"]): [run["job"]["name"] for run in each["failures"]]
        for each in found
    }
    assert failures == {
        ("orders", "b_error"): ["orders.test", "a_mart.test", "build"],
        ("orders", "c_error"): [],
        ("orders", "a_warning"): [],
        ("elsewhere.test", None): ["elsewhere.test"],
    }, "no incident affects `elsewhere`, so the failure of this run remains an incident"


@case
def run_facet(night: Night) -> None:
    for kind, second in (("pass", NOW - DAY), ("fail", NOW - HOUR)):
        told = {"test": facet(tests=[{"name": "test.shop.no_orphans", "status": kind, "severity": "error"}])}
        state = "FAIL" if kind == "fail" else "COMPLETE"
        night.run(state, second, "test.shop.no_orphans", None, "customers", "orders", run_facets=told)


def test_results_in_the_test_facet_of_a_run_count_for_its_last_input(answers: Asked) -> None:
    found = answers(run_facet).first
    assert _short(found) == [("test.failed", "orders", "open")]
    assert found[0]["subject"]["test"] == "no_orphans"


@case
def long_spell(night: Night) -> None:
    for number in range(130):
        night.test(NOW - 130 * HOUR + number * HOUR, "orders", result("unique", success=number < 3))


def test_a_test_that_fails_for_longer_than_results_are_stored_keeps_its_first_failure(answers: Asked) -> None:
    (found,) = answers(long_spell).first
    assert found["opened"] == at(NOW - 127 * HOUR)


@case
def late_and_tested(night: Night) -> None:
    night.daily("load", "orders", "feed", until=NOW - 2 * DAY)
    night.test(NOW - 2 * DAY + HOUR, "orders", result("unique", success=False))


def test_a_failed_test_does_not_explain_that_its_dataset_is_late(answers: Asked) -> None:
    found = answers(late_and_tested).first
    assert _short(found) == [("dataset.late", "orders", "open"), ("test.failed", "orders", "open")]


@case
def late(night: Night) -> None:
    night.daily("load", "late", "feed", until=NOW - 2 * DAY)
    night.daily("load", "also_late", "feed", until=NOW - 2 * DAY + 60)
    night.daily("behind", "behind", "late", until=NOW - 2 * DAY + HOUR)
    night.daily("fine", "fine", "feed", until=NOW - HOUR)
    night.daily("broken", "broken", "feed", until=NOW - 2 * DAY)
    night.run("FAIL", NOW - DAY, "broken", "broken", "feed")


def test_late_writes_of_a_job_are_one_incident_unless_another_one_explains_them(answers: Asked) -> None:
    found = answers(late).first
    assert _short(found) == [("dataset.late", "also_late", "open"), ("run.failed", "broken", "open")]
    (incident,) = [each for each in found if each["kind"] == "dataset.late"]
    assert _affected(incident) == [("also_late", 0), ("late", 0), ("behind", 1)]
    assert incident["due"] == incident["opened"] == at(NOW - DAY)
    assert at(NOW - DAY) in incident["summary"]


@case
def not_started(night: Night) -> None:
    for day in range(8, 0, -1):
        whole, second = uuid(100 + day), NOW - DAY * day
        night.run("COMPLETE", second, "dag.first", "one", "feed", under=whole)
        night.run("COMPLETE", second + 120, "dag.second", "two", "other", under=whole)
        night.run("COMPLETE", second + 240, "dag", run=whole)
    whole = uuid(100)
    night.run("FAIL", NOW - 12 * HOUR, "dag.first", "one", "feed", under=whole, error="broke")
    night.run("FAIL", NOW - 12 * HOUR + 60, "dag", run=whole)


def test_a_late_write_of_a_task_whose_dag_failed_belongs_to_the_failure(answers: Asked) -> None:
    for (incident,) in (answers(not_started).ask(now=NOW + HOUR), answers(not_started).ask(now=NOW + 8 * HOUR)):
        assert (incident["kind"], incident["subject"]["name"]) == ("run.failed", "dag.first")
    assert _affected(incident) == [("one", 0), ("two", 0)]


@case
def came_late(night: Night) -> None:
    night.daily("load", "orders", "feed", until=NOW - 2 * DAY)
    night.later()
    night.run("COMPLETE", NOW - 3 * HOUR, "load", "orders", "feed")


def test_a_late_write_that_came_is_resolved(answers: Asked) -> None:
    found = answers(came_late)
    assert _short(found.first) == [("dataset.late", "orders", "open")]
    assert _short(found.later) == [("dataset.late", "orders", "resolved")]
    assert (found.later[0]["id"], found.later[0]["resolved"]) == (found.first[0]["id"], at(NOW - 3 * HOUR))


@case
def silence(night: Night) -> None:
    for name in ("one", "two", "three"):
        night.daily(name, name, "feed", until=NOW - 2 * DAY, space="silence_silent")
    night.daily("single", "single", "feed", until=NOW - 2 * DAY, space="silence_alone")
    night.daily("fine", "fine", "feed", until=NOW - HOUR)
    night.later()
    night.run("COMPLETE", NOW - 2 * HOUR, "two", "two", "feed", space="silence_silent")


def test_a_namespace_in_which_every_job_is_overdue_is_silent(answers: Asked) -> None:
    found = answers(silence)
    assert _short(found.first) == [("dataset.late", "single", "open"), ("producer.silent", "silence_silent", "open")]
    (silent,) = [each for each in found.first if each["kind"] == "producer.silent"]
    assert (silent["opened"], silent["due"]) == (at(NOW - DAY), at(NOW - DAY))
    assert {each["detected"] for each in found.first} == {at(NOW - DAY + 6 * HOUR)}  # a quarter of the rhythm later
    assert _affected(silent) == [("one", 0), ("three", 0), ("two", 0)]
    assert ("producer.silent", "silence_silent", "resolved") in _short(found.later)
    assert silent["id"] in [each["id"] for each in found.later]


@case
def lost(night: Night) -> str:
    night.daily("load", "orders", "feed", until=NOW - 3 * DAY, times=3)
    night.daily("again", "again", "feed", until=NOW - 3 * DAY, times=3)
    night.run("START", NOW - 30 * HOUR, "again", "again", "feed")
    night.run("COMPLETE", NOW - 20 * HOUR, "again", "again", "feed")
    return night.run("START", NOW - 30 * HOUR, "load", "orders", "feed")


def test_a_lost_run_is_an_incident_from_24_hours_on(answers: Asked) -> None:
    found = answers(lost)
    assert _short(found.first) == [("run.lost", "load", "open")]
    assert found.first[0]["opened"] == at(NOW - 6 * HOUR)
    assert [(each["id"], each["state"]) for each in found.first[0]["failures"]] == [(found.known, "LOST")]


@case
def emptied(night: Night) -> None:
    for day, rows in ((2, 900), (1, 1_000)):
        night.rewrite(NOW - day * DAY, rows)
    night.daily("mart", "mart", "orders")
    night.rewrite(NOW - HOUR, 0)
    night.later()
    night.rewrite(NOW - HOUR / 2, 10)


def test_a_dataset_that_a_whole_rewrite_emptied_is_an_incident_until_it_has_rows(answers: Asked) -> None:
    found = answers(emptied)
    assert _short(found.first) == [("dataset.emptied", "orders", "open")]
    assert (found.first[0]["opened"], _affected(found.first[0])) == (at(NOW - HOUR), [("orders", 0), ("mart", 1)])
    assert found.later == []


def _both(night: Night) -> Json:
    orders = night.named("orders")
    return made(night.named("both"), {each: [source(orders, each, CLEAR)] for each in "xz"}, columns="x z")


@case
def schema_break(night: Night) -> None:
    night.daily("load", "orders", "feed", columns="x y z", replaces=True)
    night.daily("mart", "mart", "orders")
    night.daily("both", "both", inputs=[dataset(night.named("orders"))], outputs=[_both(night)])
    night.run("COMPLETE", NOW - 3 * HOUR, "load", "orders", "feed", columns="x z", replaces=True)
    night.later()
    night.run("COMPLETE", NOW - 2 * HOUR, "load", "orders", "feed", columns="y", replaces=True)


def test_a_column_that_left_while_a_job_reads_it_is_a_schema_break(answers: Asked) -> None:
    found = answers(schema_break)
    assert found.first == [], "no job reads y"
    assert _short(found.later) == [("schema.changed", "orders", "open")]
    (incident,) = found.later
    assert (incident["subject"]["column"], incident["columns"]) == (None, ["x", "z"]), "one incident of one run"
    assert _affected(incident) == [("both", 0), ("mart", 0)]
    assert incident["summary"].startswith(
        "Columns x, z left dataset schema_break/orders, but the newest run of both, mart reads them."
    )


def _usual_volumes(night: Night, output: str, read: str, minute: int, days: int = 60) -> None:
    chance = random.Random(output)
    for day in range(days, 0, -1):
        rows = round(10_000 * chance.lognormvariate(0, 0.03))
        night.rewrite(NOW - day * DAY + minute * 60, rows, f"make_{output}", output, read)


@case
def volume_drop(night: Night) -> str:
    _usual_volumes(night, "orders", "feed", -120)
    _usual_volumes(night, "mart", "orders", -60)
    dropped = night.rewrite(NOW - 2 * HOUR, 3_000, "make_orders")
    night.rewrite(NOW - HOUR, 3_100, "make_mart", "mart", "orders")
    night.later()
    night.rewrite(NOW - HOUR / 2, 10_100, "make_orders")
    return dropped


def test_unusual_volumes_are_one_incident_of_the_first_dataset_until_a_usual_write(answers: Asked) -> None:
    found = answers(volume_drop)
    assert _short(found.first) == [("volume.unusual", "orders", "open")]
    (incident,) = found.first
    assert (incident["severity"], incident["opened"], incident["failures"]) == ("warning", at(NOW - 2 * HOUR), [])
    assert _affected(incident) == [("orders", 0), ("mart", 1)], "the mart has few rows because the orders have"
    assert incident["summary"].startswith("The write of dataset volume_drop/orders at ")
    assert "had 3,000 rows, usually " in incident["summary"]
    resolved = [each for each in found.later if each["subject"]["name"] == "orders"]
    assert [(each["id"], each["resolved"]) for each in resolved] == [(incident["id"], at(NOW - HOUR / 2))]


@case
def explained_volume(night: Night) -> None:
    _usual_volumes(night, "orders", "feed", -120)
    _usual_volumes(night, "mart", "orders", -60)
    night.run("FAIL", NOW - 2 * HOUR, "make_orders", "orders", "feed", error="disk full")
    night.rewrite(NOW - HOUR, 300, "make_mart", "mart", "orders")


def test_an_unusual_volume_behind_a_failed_run_belongs_to_its_incident(answers: Asked) -> None:
    found = answers(explained_volume).first
    assert _short(found) == [("run.failed", "make_orders", "open")]
    assert _affected(found[0]) == [("orders", 0), ("mart", 1)]


@case
def two_writers(night: Night) -> None:
    chance = random.Random(1)
    for day in range(60, 0, -1):
        for minute, usual, job in ((-120, 1_000_000, "large"), (-110, 1_000, "small")):
            rows = round(usual * chance.lognormvariate(0, 0.03))
            night.rewrite(NOW - day * DAY + minute * 60, rows, job, "orders")
    night.rewrite(NOW - 110 * 60, 1_010, "small", "orders")


def test_a_usual_write_of_one_of_two_jobs_is_no_incident(answers: Asked) -> None:
    assert [each["kind"] for each in answers(two_writers).first if each["kind"] == "volume.unusual"] == []


@case
def two_writers_drop(night: Night) -> None:
    chance = random.Random(2)
    for day in range(60, 0, -1):
        for minute, usual, job in ((-120, 1_000_000, "large"), (-110, 1_000, "small")):
            rows = round(usual * chance.lognormvariate(0, 0.03))
            night.rewrite(NOW - day * DAY + minute * 60, rows, job, "orders")
    night.rewrite(NOW - 120 * 60, 300_000, "large", "orders")
    night.rewrite(NOW - 110 * 60, 1_010, "small", "orders")


def test_an_unusual_write_of_one_of_two_jobs_is_one(answers: Asked) -> None:
    (incident,) = answers(two_writers_drop).first
    assert (incident["kind"], incident["state"]) == ("volume.unusual", "open"), "the other job does not end it"
    assert "had 300,000 rows, usually " in incident["summary"]


@case
def recreated(night: Night) -> None:
    _usual_volumes(night, "orders", "feed", -120)
    dropped = dataset(night.named("orders"))
    dropped["facets"] = {"lifecycleStateChange": facet(lifecycleStateChange="DROP")}
    night.run("COMPLETE", NOW - 3 * HOUR, "drop", inputs=[], outputs=[dropped])
    night.rewrite(NOW - 2 * HOUR, 200, "make_orders")


def test_the_history_of_a_dataset_starts_when_it_is_created_again(answers: Asked) -> None:
    assert answers(recreated).first == []


def test_volumes_that_were_usual_again_a_month_ago_are_not_listed(lake: Lake) -> None:
    def subjects(now: float) -> list[str]:
        found = _ask(lake.views, lake.world, now, since=at(NOW - DAY))
        of_volume = (each["subject"] for each in found["items"] if each["kind"] == "volume.unusual")
        return [each["name"] for each in of_volume if each["namespace"] == "s3://volume_drop"]

    assert "orders" in subjects(NOW + 30 * DAY)
    assert "orders" not in subjects(NOW + 32 * DAY)


def test_volumes_are_examined_again_only_after_an_event(lake: Lake) -> None:
    known, volumes = HealthCache(), VolumeCache()
    late_us = int(datetime.fromisoformat(at(NOW + 2 * DAY)).timestamp()) * 1_000_000
    with lake.views.open_view_and_index(AsOf()) as (view, live):
        for now_us, max_checks in ((late_us, 1_000), (late_us + 60_000_000, 0)):
            reader = HealthReader(live, view.counted_edges, known.answer_time_us(now_us))
            before = dict(known.datasets)
            assert known.check_due_items(live, reader, 10_000)
            measures = DatasetMeasures(live, reader.now_us)
            while not volumes.check_due(known, measures, late_us - 3 * DAY * 1_000_000, max_checks):
                assert max_checks, "no event has come"
        assert any(before[name] is not each for name, each in known.datasets.items()), "late ones are checked again"


@case
def small_change(night: Night) -> None:
    _usual_volumes(night, "orders", "feed", -120)
    night.rewrite(NOW - 2 * HOUR, 8_000, "make_orders")
    _usual_volumes(night, "new", "feed", -120, days=20)
    night.rewrite(NOW - 2 * HOUR, 300, "make_new", "new")


def test_small_changes_and_short_histories_are_no_incidents(answers: Asked) -> None:
    assert answers(small_change).first == []


def test_answers_about_the_present_are_used_again_and_removed_when_they_are_old() -> None:
    recent, computed = RecentAnswers(), count()

    def asked(since_us: int, now: int) -> str:
        period = IncidentPeriod(since_us, now * 1_000_000, is_present=True)
        return recent.get_or_compute(
            period, 10, now * 1_000_000, lambda: Incidents(str(next(computed)), "", [], {}, 0, truncated=False)
        ).since

    assert [asked(7, second) for second in (0, 10, 20)] == ["0", "0", "1"], "a fixed since, as alerts ask"
    assert [asked((second - DAY) * 1_000_000, second) for second in (21, 22)] == ["2", "2"], "the default since"
    assert [asked(second, 60) for second in range(20)] == [str(number) for number in range(3, 23)]
    assert len(recent) < 10
    assert asked(3, 100) == "23"
    assert len(recent) == 1


@case
def recorded_dbt(night: Night) -> None:
    for name in ("dbt_before", "dbt_after", "dbt_last"):
        night.events += (ROOT / f"demo/recording/captured/{name}.ndjson").read_bytes().splitlines()


def test_recorded_runs_of_dbt_give_the_failed_model_and_the_failed_test(lake: Lake) -> None:
    found = ask(lake.views, "incidents", {"asOf": "2026-11-28T17:30:00Z"}, bronze=lake.world.bronze)
    own = [each for each in found["items"] if "warehouse" in each["subject"]["name"]]
    assert _short(own) == [
        ("run.failed", "warehouse.gold.shop.stock_value.build.run", "open"),
        ("test.failed", "warehouse.gold.mailing_list", "open"),
    ]
    model, test = own
    assert [each["job"]["name"].rpartition(".")[2] for each in model["failures"]] == ["run", "dbt-run-shop"]
    assert _affected(model) == [("warehouse.gold.stock_value", 0), ("warehouse.gold.reorder_list", 1)]
    assert (test["subject"]["column"], test["subject"]["test"]) == ("contact", "not_null_mailing_list_contact")
    assert [each["job"]["name"] for each in test["failures"]] == ["warehouse.gold.shop.mailing_list.build.test"]


@case
def quiet(night: Night) -> None:
    night.daily("load", "orders", "feed", until=NOW - HOUR)
    night.daily("mart", "mart", "orders", until=NOW - HOUR / 2)
    night.test(NOW - HOUR, "orders", result("unique", success=True))


def test_a_night_without_faults_has_no_incidents(answers: Asked) -> None:
    assert answers(quiet).first == []


@case
def busy(night: Night) -> None:
    whole = uuid(13)
    owned = {"ownership": facet(owners=[{"name": "team:sales", "type": "OWNER"}])}
    night.daily("dag.load", "raw", "feed", under=uuid(14), job_facets=owned)
    night.daily("mart", "mart", "raw", until=NOW - DAY + HOUR)
    night.run("FAIL", NOW - 8 * HOUR, "dag.load", "raw", "feed", under=whole, error="disk full")
    night.run("FAIL", NOW - 7 * HOUR, "dag.load", "raw", "feed", under=whole, error="disk full")
    night.run("FAIL", NOW - 6 * HOUR, "dag", run=whole)
    night.run("FAIL", NOW - 5 * HOUR, "mart", "mart", "raw")


def test_an_incident_has_all_failures_that_belong_to_it_and_the_owners(answers: Asked) -> None:
    (found,) = answers(busy).first
    assert [each["job"]["name"] for each in found["failures"]] == ["dag.load", "dag.load", "dag", "mart"]
    assert found["owners"] == [{"name": "team:sales", "type": "OWNER", "source": "facet"}]


def test_open_incidents_come_first_then_errors_then_those_that_affect_more(lake: Lake) -> None:
    items = lake.later["items"]
    keys = [
        (each["state"] != "open", each["severity"] != "error", -each["affectedCount"], each["opened"]) for each in items
    ]
    assert keys == sorted(keys)
    assert (
        len({each["id"] for each in items})
        == len(items)
        == lake.later["totalCount"]
        == sum(lake.later["kinds"].values())
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_any_order_of_events_gives_the_same_incidents_with_the_same_ids(lake: Lake, tmp_path: Path, seed: int) -> None:
    events = [event for each in CASES.values() for event in each.night.events]
    shuffled = [*events, *events[:50]]
    random.Random(seed).shuffle(shuffled)
    world = World(tmp_path / "second")
    _bring(world, shuffled, batches=seed + 1)
    views = open_view_opener(world.settings, world.folder)
    found = _ask(views, world)
    one = found["items"][0]
    by_id = ask(views, "incident", {"incident": one["id"], "asOf": at(NOW)}, bronze=world.bronze)
    views.close()
    assert found == lake.later, "a second instance must return the same incidents"
    assert by_id == one
