"""The health of datasets and jobs by their own rhythm, and the datasets that wait for unhealthy ones."""

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec import to_builtins
from typer.testing import CliRunner

from headwater.cli.app import app
from headwater.common.errors import NotKnown
from headwater.index.reading.view_opener import ViewOpener
from headwater.index.reading.write_times import TimedWrite
from headwater.lineage.snapshots.as_of import AsOf
from headwater.operations.runtime.index import open_view_opener
from headwater.questions.health_lists import (
    health_of_dataset,
    health_of_dataset_with_row_counts,
    health_of_graph,
    health_of_job,
    list_health_problems,
    not_refreshed_by_run,
)
from headwater.questions.rhythm import format_duration, punctuality, rhythm_of, write_times
from headwater.questions.subjects import Subject
from tests.reference.small_events import CLEAR, made
from tests.reference.world_events import START_US, Json, at, dataset, facet, parent, run_event, source, uuid
from tests.support.data.parsing import World
from tests.support.data.samples import body
from tests.support.questions import ask as asked_of

HOUR, DAY = 3_600, 86_400
NOW = 100 * DAY
"""The time of all questions, in seconds after the start of the test data."""

NOW_US = START_US + NOW * 1_000_000
LAKE = "s3://health"


def judged(*days: float, now: float) -> tuple[str, float | None]:
    """Return the verdict for writes on these days, and by how many days the next write is late."""
    times = [round(day * DAY * 1e6) for day in sorted(days)]
    now_us = round(now * DAY * 1e6)

    def silence(at_us: int) -> int | None:
        before = [time for time in times if time <= at_us]
        return at_us - before[-1] if before else None

    found = punctuality(times, now_us, times[0], silence)
    return found.verdict, None if found.late_us is None else round(found.late_us / DAY / 1e6, 3)


DAILY = tuple(range(20))
WEEKDAYS = tuple(day for day in range(1, 28) if day % 7 not in (6, 0))  # day 1 is a Monday
HOURS = tuple(day + hour / 24 for day in range(10) for hour in range(9, 18))


@pytest.mark.parametrize(
    ("times", "now", "verdict", "late"),
    [
        (DAILY, 19.9, "on time", None),
        (DAILY, 20.2, "on time", None),  # within a quarter of its interval
        (DAILY, 20.5, "late", 0.5),
        (DAILY, 24, "late", 4),
        (DAILY, 39, "unknown", None),  # silent for longer than the period of all writes, so it has probably ended
        (tuple(range(0, 70, 7)), 69, "on time", None),
        (tuple(range(0, 70, 7)), 73, "late", 3),
        (WEEKDAYS, 28.5, "on time", None),  # Sunday noon: it was silent a week before, too
        (WEEKDAYS, 29.5, "late", 2.5),  # Monday noon: it had been written by then a week before
        (HOURS, 10.2, "on time", None),  # at night, like the night before
        (HOURS, 10.5, "late", 0.75 - 1 / 24 + 1 / 24 - 0.0 + 0.0 - 0.0),
        ((5,), 6, "unknown", None),
        ((1, 2, 3, 4, 5), 9, "unknown", None),
        ((1, 2, 3, 4, 5, 6), 7.5, "late", 0.5),
        ((0, 0.01, 3, 3.2, 9, 9.1, 30, 31, 31.4, 50), 60, "unknown", None),  # irregular times
        (tuple(day + random.Random(day).uniform(-0.05, 0.05) for day in range(30)), 30.1, "on time", None),
        ((7,) * 10, 9, "unknown", None),
    ],
)  # fmt: skip
def test_a_verdict_of_a_rhythm(times: tuple[float, ...], now: float, verdict: str, late: float | None) -> None:
    if times is HOURS and now == 10.5:
        late = round(10.5 - (9 + 17 / 24) - 1 / 24, 3)
    assert judged(*times, now=now) == (verdict, late)


def test_writes_of_one_execution_within_an_hour_are_one() -> None:
    day, minute = DAY * 1_000_000, 60_000_000
    writes = [
        TimedWrite(number * day + part * minute, number, 10 * number + part, 1)
        for number in range(8)
        for part in range(3)
    ]
    assert len(write_times(writes)) == 8
    rhythm = rhythm_of(write_times(random.Random(1).sample(writes, len(writes))))
    assert not isinstance(rhythm, str)
    assert rhythm.usual_us == day
    session = [TimedWrite(number * day, 1, number, 1) for number in range(8)]
    assert len(write_times(session)) == 8, "a long-running session must count as one write per day"


def test_spans_of_time_are_said_in_two_units() -> None:
    assert [format_duration(round(each * 1e6)) for each in (0, 61, 3 * HOUR, DAY + 3 * HOUR + 5, 90_000 * DAY)] == [
        "0 s", "1 min 1 s", "3 h", "1 d 3 h", "90000 d",
    ]  # fmt: skip


def _named(name: str) -> tuple[str, str]:
    return LAKE, name


_number = iter(range(1, 1 << 30))


def wrote(job: str, second: float, output: str, *reads: str, kind: str = "COMPLETE", **more: Any) -> bytes:
    """Return the event of a new run that writes one table from others."""
    columns = {"x": [source(_named(read), "x", CLEAR) for read in reads]}
    outputs = [made(_named(output), columns, columns="x")] if kind == "COMPLETE" else []
    inputs = [dataset(_named(read)) for read in reads]
    event = run_event(
        kind,
        at(second),
        more.pop("run", None) or uuid(next(_number)),
        ("etl", job),
        inputs=inputs,
        outputs=outputs,
        **more,
    )
    return body(event)


def replaced(number: int, second: float, output: str, rows: int | None, change: str = "OVERWRITE") -> bytes:
    """Return the event of a run that writes `rows` rows, and by default replaces all existing ones."""
    told = made(_named(output), {"x": [source(_named("feed"), "x", CLEAR)]}, columns="x")
    told["facets"]["lifecycleStateChange"] = facet(lifecycleStateChange=change)
    if rows is not None:
        told["outputFacets"] = {"outputStatistics": facet(rowCount=rows, size=rows)}
    inputs = [dataset(_named("feed"))]
    return body(
        run_event(
            "COMPLETE", at(second), uuid((1 << 38) + number), ("etl", f"load_{output}"), inputs=inputs, outputs=[told]
        )
    )


def counts() -> Iterator[bytes]:
    """Yield writes of tables with these daily row counts, newest first."""
    of_table: dict[str, tuple[str, list[int | None]]] = {
        "emptied": ("OVERWRITE", [0, 0, 1_000, 900, 800, 700, 600, 500]),
        "always_empty": ("OVERWRITE", [0] * 8),
        "appended": ("APPEND", [0, 1_000, 900, 800, 700, 600, 500, 400]),
        "uncounted": ("OVERWRITE", [0, None, None, None, None, None, None, None]),
        "refilled": ("OVERWRITE", [5, 0, 1_000, 900, 800, 700, 600, 500]),
    }
    for at_table, (name, (change, rows)) in enumerate(of_table.items()):
        for day, count in enumerate(rows):
            yield replaced(100 * at_table + day, NOW - HOUR - day * DAY, name, count, change)


def every(period: float, times: int, until: float) -> list[float]:
    return [until - period * number for number in range(times)]


FAILED, CHAIN, WHOLE = uuid(1 << 32), uuid(1 << 33), uuid(1 << 34)
DENIED, TIMED_OUT, STARTING, LOST = (uuid((1 << 35) + number) for number in range(4))
NIGHT = 8
"""Number of DAGs that fail in one night because of their only task: 16 failed runs and 8 incidents."""


def to_write(kind: str, second: float, run: str, output: str, error: str = "") -> bytes:
    """Return an event of a run that names its output from the start, as producers do."""
    told: Json = {"errorMessage": facet(message=f"{error}\n\tat x", programmingLanguage="SQL")} if error else {}
    inputs, outputs = [dataset(_named("feed"))], [dataset(_named(output))]
    return body(
        run_event(kind, at(second), run, ("etl", f"load_{output}"), inputs=inputs, outputs=outputs, run_facets=told)
    )


def first_runs() -> Iterator[bytes]:
    """Yield events of tables without a completed run: two failures, a running run and a lost run."""
    yield to_write("START", NOW - 3 * HOUR, DENIED, "never")
    yield to_write("FAIL", NOW - 3 * HOUR + 60, DENIED, "never", "permission denied for schema gold")
    yield to_write("ABORT", NOW - 2 * HOUR, TIMED_OUT, "never", "timed out")
    yield to_write("START", NOW - HOUR, STARTING, "starting")
    yield to_write("START", NOW - 40 * HOUR, LOST, "lost_first")


def night() -> Iterator[bytes]:
    """Yield DAGs that completed a day ago and fail now. The task reports the reason, the DAG's run does not."""
    for number in range(NIGHT):
        dag, job, second = ("airflow", f"dag_{number}"), ("airflow", f"dag_{number}.load"), NOW - 6 * HOUR + number
        for kind, days in (("COMPLETE", 1), ("FAIL", 0)):
            whole, task = uuid((1 << 36) + 4 * number + days), uuid((1 << 36) + 4 * number + days + 2)
            told: Json = {"parent": parent(whole, dag, whole)}
            if kind == "FAIL":
                told["errorMessage"] = facet(message=f"disk {number} is full", programmingLanguage="PYTHON")
            yield body(run_event(kind, at(second - days * DAY), task, job, run_facets=told))
            yield body(run_event(kind, at(second - days * DAY + 1), whole, dag))


def events() -> Iterator[bytes]:
    """Yield feeds of several rhythms. `base` failed today, `mid` and `end` depend on it, and `fresh` was
    written since.
    """
    described: Json = {
        "ownership": facet(owners=[{"name": "team:sales", "type": "OWNER"}, {"name": 5}, "x"]),
        "documentation": facet(description="Loads the base."),
        "sourceCodeLocation": facet(type="git", url="javascript:alert(1)", path="a.py"),
        "tags": facet(tags=[{"key": "tier", "value": "gold", "source": "USER"}, {}]),
    }
    for second in every(DAY, 20, NOW - DAY):
        yield wrote("load_base", second, "base", "feed", job_facets=described)
        yield wrote("load_mid", second + 60, "mid", "base")
        yield wrote("load_end", second + 120, "end", "mid")
        yield wrote("load_fresh", second + 180, "fresh", "base")
    yield wrote("load_base", NOW - 2 * HOUR, "base", "feed", kind="FAIL", run=FAILED)
    yield wrote("load_fresh", NOW - HOUR, "fresh", "base")
    for second in every(DAY, 20, NOW - 3 * DAY):
        yield wrote("load_late", second, "late", "feed")
        yield wrote("load_behind", second + 60, "behind", "late")
    for second in every(7 * DAY, 10, NOW - 5 * DAY):
        yield wrote("load_weekly", second, "weekly", "feed")
    for second in (NOW - 50 * DAY, NOW + 2 * DAY):
        yield wrote("load_skewed", second, "skewed", "feed")
    for second in (
        NOW - 40 * DAY,
        NOW - 39.9 * DAY,
        NOW - 20 * DAY,
        NOW - 19 * DAY,
        NOW - 3 * DAY,
        NOW - 2.5 * DAY,
        NOW - DAY,
    ):
        yield wrote("load_now_and_then", second, "now_and_then", "feed")
    yield wrote("load_once", NOW - 60 * DAY, "once", "feed")
    for job, kinds in {"hangs": ["START"], "hangs_now": ["COMPLETE", "START"]}.items():
        for number, kind in enumerate(kinds):
            yield wrote(job, NOW - 40 * HOUR + number * HOUR, job, kind=kind)
    yield body(run_event("COMPLETE", at(NOW - 2 * DAY), WHOLE, ("dag", "nightly")))
    told = {"parent": parent(WHOLE, ("dag", "nightly"), WHOLE)}
    yield wrote("nightly.part", NOW - 2 * DAY - 60, "part", "feed", run_facets=told)
    yield body(run_event("FAIL", at(NOW - DAY), CHAIN, ("dag", "nightly")))
    yield from first_runs()
    yield from night()
    yield from counts()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Provide a lake that received all events twice and shuffled."""
    world = World(tmp_path_factory.mktemp("health") / "data")
    every_event = [*events()]
    random.Random(3).shuffle(every_event)
    for events_of_batch in (every_event[::2], every_event[1::2], every_event):
        world.append(*events_of_batch)
        while world.parser().commit_next():
            pass
    return world


@pytest.fixture(scope="module")
def views(world: World) -> Iterator[ViewOpener]:
    opened = open_view_opener(world.settings, world.folder)
    yield opened
    opened.close()


@pytest.fixture
def ask(views: ViewOpener) -> Callable[..., Any]:
    """Return a function that asks about the current state."""

    def asked(question: Callable[..., Any], *more: Any) -> Any:
        with views.open_view_and_index(AsOf()) as (here, live):
            return to_builtins(question(here, live, *more))

    return asked


def _of(ask: Callable[..., Any], name: str) -> Any:
    return ask(health_of_dataset, Subject(LAKE, name), NOW_US, 100)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "status", "said"),
    [
        ("base", "failed", "the newest run is FAIL and no run has completed since"),
        ("mid", "stale", "not written since base failed or became late"),
        ("end", "stale", "not written since base failed or became late"),
        ("fresh", "ok", "usually every"),
        ("late", "late", "late by 2 d, usually every 1 d"),
        ("behind", "late", "late by 1 d 23 h"),
        ("weekly", "ok", "usually every 7 d"),
        ("skewed", "unknown", "only 1 completed writes"),
        ("now_and_then", "unknown", "no regular rhythm"),
        ("once", "unknown", "only 1 completed writes"),
        ("feed", "unknown", "no completed run is known to write it"),
    ],
)
def test_how_a_dataset_fares(ask: Callable[..., Any], name: str, status: str, said: str) -> None:
    (item,) = _of(ask, name)["items"]
    assert item["status"] == status, item
    assert said in item["reason"]


@pytest.mark.slow
def test_a_dataset_has_its_newest_write_run_and_rhythm(ask: Callable[..., Any]) -> None:
    found = _of(ask, "base")
    (item,) = found["items"]
    assert (item["last_success"], item["usual_seconds"]) == (at(NOW - DAY), DAY)
    assert (item["last_run"]["id"], item["last_run"]["state"], item["last_run"]["time"]) == (
        FAILED,
        "FAIL",
        at(NOW - 2 * HOUR),
    )
    assert item["last_run"]["job"] == {"namespace": "etl", "name": "load_base"}
    assert [(each["dataset"], each["distance"]) for each in found["not_refreshed"]] == [("mid", 1), ("end", 2)]
    assert _of(ask, "end")["items"][0]["waits_for"] == [{"namespace": LAKE, "dataset": "base"}]
    assert _of(ask, "skewed")["items"][0]["last_success"] == at(NOW - 50 * DAY), "writes in the future do not count yet"


@pytest.mark.slow
def test_a_job_fares_by_its_runs_and_says_whose_it_is(ask: Callable[..., Any]) -> None:
    found = ask(health_of_job, ("etl", "load_base"), NOW_US, 100)
    assert (found["items"][0]["status"], found["items"][0]["last_success"]) == ("failed", at(NOW - DAY))
    assert [each["dataset"] for each in found["not_refreshed"]] == ["base", "mid", "end"]
    assert found["about"] == {
        "description": "Loads the base.",
        "owners": [{"name": "team:sales", "type": "OWNER", "source": "facet"}],
        "source": {"url": "javascript:alert(1)", "type": "git", "path": "a.py", "version": None},
        "tags": [{"key": "tier", "value": "gold"}],
    }
    assert ask(health_of_job, (None, "load_late"), NOW_US, 100)["items"][0]["status"] == "late"
    for job, status in (("hangs", "unknown"), ("hangs_now", "failed")):
        (lost,) = ask(health_of_job, ("etl", job), NOW_US, 100)["items"]
        assert (lost["status"], lost["last_run"]["state"]) == (status, "LOST"), "a run without an end is lost"


@pytest.mark.slow
def test_the_list_is_of_what_does_not_fare_well_and_says_the_same_as_each(
    views: ViewOpener, ask: Callable[..., Any]
) -> None:
    found = to_builtins(list_health_problems(views, NOW_US, None, 100))
    listed = {(each["kind"], each["name"]): each["status"] for each in found["items"]}
    assert listed == {
        ("dataset", "base"): "failed", ("dataset", "mid"): "stale", ("dataset", "end"): "stale",
        ("dataset", "late"): "late", ("dataset", "behind"): "late", ("job", "load_base"): "failed",
        ("job", "load_late"): "late", ("job", "load_behind"): "late", ("job", "hangs_now"): "failed",
        ("dataset", "hangs_now"): "failed",
        ("job", "nightly"): "failed", ("job", "load_never"): "failed",
        **{("job", f"dag_{number}.load"): "failed" for number in range(NIGHT)},
    }  # fmt: skip
    assert found["statuses"] == {"failed": 6 + NIGHT, "late": 4, "stale": 2}
    assert (found["totalCount"], found["truncated"]) == (12 + NIGHT, False)
    assert [each["status"] for each in found["items"]] == ["failed"] * (6 + NIGHT) + ["late"] * 4 + ["stale"] * 2
    for (kind, name), status in listed.items():
        if kind == "dataset":
            assert _of(ask, name)["items"][0]["status"] == status
    only = to_builtins(list_health_problems(views, NOW_US, "stale", 1))
    assert (len(only["items"]), only["totalCount"], only["truncated"]) == (1, 2, True)


@pytest.mark.slow
def test_a_dag_and_its_task_are_one_incident_with_the_error_of_the_run(views: ViewOpener) -> None:
    found = to_builtins(list_health_problems(views, NOW_US, "failed", 100))["items"]
    tasks = {each["name"]: each for each in found if each["namespace"] == "airflow"}
    assert tasks.keys() == {f"dag_{number}.load" for number in range(NIGHT)}, "16 failed runs must give 8 incidents"
    for number in range(NIGHT):
        task = tasks[f"dag_{number}.load"]
        assert task["failed_with"] == [{"namespace": "airflow", "name": f"dag_{number}"}]
        assert task["last_run"]["error"] == f"disk {number} is full"
        assert task["reason"].startswith(f"disk {number} is full; the newest run is FAIL")
    (chain,) = (each for each in found if each["name"] == "nightly")
    assert (chain["failed_with"], chain["last_run"]["error"]) == ([], None), "none of its tasks failed"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "expected", "said"),
    [
        ("emptied", ("failed", 0, 1_000), "replaced all rows with 0 rows, an earlier one wrote 1000"),
        ("always_empty", ("ok", None, None), "usually every 1 d"),
        ("appended", ("ok", None, None), "usually every 1 d"),
        ("uncounted", ("unknown", 0, None), "with 0 rows; no earlier write reports its row count"),
        ("refilled", ("ok", None, None), "usually every 1 d"),
    ],
)
def test_a_table_that_a_write_emptied_is_not_healthy(
    world: World, views: ViewOpener, name: str, expected: tuple[str, int | None, int | None], said: str
) -> None:
    asked = Subject(LAKE, name)
    (item,) = to_builtins(health_of_dataset_with_row_counts(views, asked, NOW_US, 100, world.bronze))["items"]
    assert (item["status"], item["rows"], item["rows_before"]) == expected
    assert said in item["reason"]


@pytest.mark.slow
def test_the_list_has_what_was_emptied_behind_what_failed(world: World, views: ViewOpener) -> None:
    without, whole = (
        to_builtins(list_health_problems(views, NOW_US, None, 100, each)) for each in (None, world.bronze)
    )
    added = [each for each in whole["items"] if each not in without["items"]]
    assert [(each["name"], each["status"], each["rows_before"]) for each in added] == [("emptied", "failed", 1_000)]
    assert whole["statuses"] == {**without["statuses"], "failed": without["statuses"]["failed"] + 1}
    assert whole["totalCount"] == without["totalCount"] + 1
    assert [each["status"] for each in whole["items"]].index("late") == whole["statuses"]["failed"]
    late = to_builtins(list_health_problems(views, NOW_US, "late", 100, world.bronze))
    assert {each["status"] for each in late["items"]} == {"late"}
    assert late["statuses"] == whole["statuses"]


@pytest.mark.slow
def test_a_table_whose_first_runs_failed_is_known_with_their_reasons(ask: Callable[..., Any]) -> None:
    found = _of(ask, "never")
    (item,) = found["items"]
    assert (item["status"], item["last_success"], found["never_written"]) == ("failed", None, True)
    never = "never written: none of the 2 known runs that name it as an output has completed, the newest is ABORT"
    assert item["reason"] == f"timed out; {never}"
    job = {"namespace": "etl", "name": "load_never"}
    assert found["failed_runs"] == [
        {"id": TIMED_OUT, "job": job, "state": "ABORT", "time": at(NOW - 2 * HOUR), "error": "timed out"},
        {"id": DENIED, "job": job, "state": "FAIL", "time": at(NOW - 3 * HOUR + 60),
         "error": "permission denied for schema gold"},
    ]  # fmt: skip
    for name, run, state in (("starting", STARTING, "RUNNING"), ("lost_first", LOST, "LOST")):
        found = _of(ask, name)
        (item,) = found["items"]
        assert (item["status"], found["never_written"], item["last_run"]["id"]) == ("unknown", True, run)
        assert item["reason"].endswith(f"has not completed, the newest is {state}")
        assert [each["id"] for each in found["failed_runs"]] == ([LOST] if state == "LOST" else [])
    for name in ("base", "feed", "hangs_now"):
        found = _of(ask, name)
        assert (found["never_written"], found["failed_runs"]) == (False, []), "the dataset was written, or is a source"


@pytest.mark.slow
@pytest.mark.parametrize("as_of", [{}, {"view": "all"}, {"asOf": at(NOW)}])
def test_a_table_without_a_completed_run_is_drawn_alone_and_leads_nowhere(
    views: ViewOpener, as_of: dict[str, str]
) -> None:
    drawn = asked_of(views, "around", {"dataset": "never", **as_of})
    assert [table["dataset"] for table in drawn["tables"]] == ["never"], "a name must be found by its end"
    assert (drawn["tableEdges"], drawn["columns"]) == ([], [])
    for question in ("upstream", "impact", "unused", "surface"):
        with pytest.raises(NotKnown, match="No dataset 's3://health/never' with lineage"):
            asked_of(views, question, {"namespace": LAKE, "dataset": "never", **as_of})
    with pytest.raises(NotKnown, match="no completed run has read or written it"):
        asked_of(views, "contract", {"namespace": LAKE, "dataset": "never"}, bronze=None)
    downstream = asked_of(views, "impact", {"namespace": LAKE, "dataset": "feed", "limit": "1000", **as_of})
    assert "never" not in {each["dataset"] for each in downstream["columns"]}
    with pytest.raises(NotKnown, match="No dataset 'nowhere'"):
        asked_of(views, "around", {"dataset": "nowhere", **as_of})


@pytest.mark.slow
def test_a_run_says_what_it_did_not_refresh(ask: Callable[..., Any]) -> None:
    left = ask(not_refreshed_by_run, FAILED, NOW_US, 100)
    assert [(each["dataset"], each["distance"], each["is_written_since"]) for each in left] == [
        ("base", 0, False), ("mid", 1, False), ("end", 2, False),
    ]  # fmt: skip
    assert [each["dataset"] for each in ask(not_refreshed_by_run, CHAIN, NOW_US, 100)] == ["part"], (
        "runs that are part of the run affect the dataset"
    )
    assert ask(not_refreshed_by_run, WHOLE, NOW_US, 100) == []


@pytest.mark.slow
def test_what_is_drawn_is_asked_for_at_once_and_who_is_not_known_is_left_out(ask: Callable[..., Any]) -> None:
    asked = tuple(map(json.dumps, (["dataset", LAKE, "late"], ["job", "etl", "load_late"], ["dataset", LAKE, "no"])))
    found = ask(health_of_graph, asked, NOW_US)["items"]
    assert [(each["kind"], each["status"]) for each in found] == [("dataset", "late"), ("job", "late")]


@pytest.mark.slow
def test_the_command_shows_why_a_table_was_never_written(world: World) -> None:
    shown = CliRunner().invoke(app, ["health", "never", "--data", str(world.folder), "--csv"])
    assert shown.exit_code == 1
    assert "never written: none of the 2 known runs" in shown.output
    assert f"{DENIED},load_never,FAIL" in shown.output
    assert "permission denied for schema gold" in shown.output


@pytest.mark.slow
def test_the_command_lists_what_does_not_fare_well_and_refuses_what_is_both(world: World) -> None:
    listed = CliRunner().invoke(app, ["health", "--data", str(world.folder), "--json"])
    assert json.loads(listed.output)["totalCount"] > 0
    assert listed.exit_code == 1
    assert "team:sales" in CliRunner().invoke(app, ["health", "--job", "load_base", "--data", str(world.folder)]).output
    assert "Problems, " in CliRunner().invoke(app, ["health", "--data", str(world.folder)]).output
    both = CliRunner().invoke(app, ["health", "base", "--job", "x", "--data", str(world.folder)])
    assert "Both dataset= and job=" in str(both.exception)
