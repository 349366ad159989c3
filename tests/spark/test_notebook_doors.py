"""Stamps and the harness under Spark's real listener: a notebook's runs have the ids of its pipeline, and land once."""

import json
import subprocess
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import headwater
from headwater.spark.offline.file_transport_events import ApplicationEvents, transport_files
from tests.support.spark.onelake_session import LAKEHOUSE, Session
from tools.jars import listeners

Json = dict[str, Any]
LISTENERS = [listeners()[0], *(pytest.param(version, marks=pytest.mark.long) for version in listeners()[1:])]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("listener", LISTENERS)
def test_notebooks_are_stamped_apart_and_harnessed_once(listener: str, tmp_path: Path) -> None:
    session = Session(tmp_path / "session", listener)
    store = tmp_path / "store"
    witness = session.folder / "witness.ndjson"
    session.folder.mkdir()
    write(witness, run_event("COMPLETE", "another"))
    witness.write_text(witness.read_text() + '{"in shreds\n')
    with session.start(str(store), session.witnessed(**LAKEHOUSE), "tests.support.spark.doors_driver") as process:
        told, _ = process.communicate(timeout=600)
    assert process.returncode == 0, session.errors.read_text()
    done = json.loads(told.splitlines()[-1])

    (stored,) = (path for path in store.rglob("*") if path.is_file() and not path.name.endswith(".crc"))
    lines = stored.read_text("utf-8").splitlines()
    events = [json.loads(line) for line in lines[:-1]]
    application = done["session"]
    first = {"file": str(stored.relative_to(store)), "new": True, "events": len(events) - 1}
    assert done["first"] == first | {"lost": 1, "unfinished": done["first"]["unfinished"], "other_applications": 1}
    assert done["second"] == done["first"] | {"new": False}
    assert stored.name.endswith(f"-{len(events)}events.ndjson")
    assert stored.parent.name == f"dt={events[-1]['eventTime'][:10]}"

    # all that this application's listener emitted until then, and nothing of the other's
    emitted = [json.loads(line) for line in witness.read_text("utf-8").splitlines()[2:]]
    assert events[:-1] == emitted[: len(events) - 1]
    assert [event["job"]["name"] for event in emitted[len(events) - 1 :]] == ["nightly"]  # the application's own end

    ids = {"workspace": "ws-1", "activity": "act-0", "pipeline": "nightly", "pipelineRun": "run-1"}
    assert [pipeline(event) for event in of_run(events, application) if pipeline(event)] == [ids, ids]
    assert of_run(events, application)[-1]["eventType"] == "COMPLETE"
    for name in "ab":
        (stamped,) = of_run(events, done[name])
        assert stamped["job"]["name"] == f"nightly.child_{name}"
        assert stamped["run"]["facets"]["parent"]["run"]["runId"] == application
        assert pipeline(stamped) == {
            "workspace": "ws-1", "activity": f"act-{name}", "pipeline": "nightly", "notebook": f"child_{name}",
        }  # fmt: skip
        assert described(events, f"table_{name}") == {f"child_{name} {done[name]}", done[name]}
    assert described(events, "table_0") == set()

    losses = json.loads(lines[-1])["headwater"]
    assert (losses["transport"], losses["dropped"], losses["namespace"]) == ("file", 1, "fabric/Sales")
    assert session.landed() == Counter(witness.read_text("utf-8").splitlines()[2:]), "the transport leaves none out"
    landed = [json.loads(line) for line in session.landed()]
    assert {event["run"]["runId"] for event in landed if pipeline(event)} == {application, done["a"], done["b"]}
    assert done["nowhere"].startswith("Retry: Cannot store the events in file:///proc/nowhere: ")
    assert done["unheard"].startswith("WrongSetting: This session has no OpenLineage listener. ")


def test_what_others_wrote_and_overwrote_is_counted(tmp_path: Path) -> None:
    ours, another = tmp_path / "lineage_2026_05_01.ndjson", tmp_path / "lineage_2026_05_02.ndjson"
    write(ours, run_event("START", "app"), run_event("START", "a", "app"), run_event("START", "b", "app"))
    write(ours, run_event("RUNNING", "a", "app"), run_event("COMPLETE", "a", "app"), run_event("START", "x", "other"))
    write(another, run_event("COMPLETE", "other"), run_event("FAIL", "c", "app"))
    with another.open("a") as file:
        file.write('{"headwater": {"dropped": 1}}\n{"eventTime": "2026-03-01T00:00:')

    read = partial(read_all, files=[ours, another])
    events, found = read("app")
    assert [event["run"]["runId"] for event in found] == ["app", "a", "b", "a", "a", "c"]
    assert (events.count, events.lost, events.unfinished, events.others) == (6, 1, 1, {"other"})
    events, found = read("other")
    assert [event["run"]["runId"] for event in found] == ["x", "other"]
    assert (events.lost, events.unfinished, events.others) == (2, 1, {"app"})  # its START was overwritten


@pytest.mark.slow
def test_what_notebooks_call_needs_spark_only_when_it_is_called() -> None:
    code = (
        "import sys, headwater; assert not {'pyspark', 'msgspec'} & {*sys.modules}; print(headwater.stamp.__module__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "headwater.spark.offline.pipeline_stamp"
    with pytest.raises(AttributeError, match="module 'headwater' has no attribute 'stomp'"):
        _ = headwater.stomp


@pytest.mark.parametrize("at", ["lineage.ndjson", "lineage", ""])
def test_files_are_found_by_the_beginning_of_their_names(at: str, tmp_path: Path) -> None:
    write(tmp_path / "lineage_2026_05_01.ndjson", run_event("START", "app"))
    prefix = "spark.openlineage.transport."
    plain = {f"{prefix}type": "file", f"{prefix}location": str(tmp_path / at)}
    part = {
        f"{prefix}type": "composite",
        f"{prefix}transports.b.type": "file",
        f"{prefix}transports.b.location": str(tmp_path / at),
    }
    for conf in (plain, part):
        assert transport_files(conf, 0) == [tmp_path / "lineage_2026_05_01.ndjson"]


def run_event(kind: str, run: str, parent: str | None = None) -> Json:
    facets = {"parent": {"run": {"runId": parent}}} if parent else {}
    return {"eventTime": "2026-03-01T00:00:00.5Z", "eventType": kind, "run": {"runId": run, "facets": facets}}


def write(path: Path, *events: Json) -> None:
    with path.open("a") as file:
        file.writelines(json.dumps(event) + "\n" for event in events)


def read_all(run: str, files: list[Path]) -> tuple[ApplicationEvents, list[Json]]:
    events = ApplicationEvents(run)
    return events, [json.loads(line) for line in events.event_lines(files)]


def of_run(events: list[Json], run: str) -> list[Json]:
    return [event for event in events if event["run"]["runId"] == run]


def pipeline(event: Json) -> Json:
    facet: Json = event["run"].get("facets", {}).get("headwater_pipeline", {})
    return {name: value for name, value in facet.items() if not name.startswith("_")}


def described(events: list[Json], table: str) -> set[str]:
    """Return how the jobs that write a table are described, and what they are stamped with."""
    writers = {event["run"]["runId"] for event in events if any(table in out["name"] for out in event["outputs"])}
    facets = [event["run"]["facets"] for event in events if event["run"]["runId"] in writers]
    described = {each.get("spark_jobDetails", {}).get("jobDescription") for each in facets}
    stamped = {each.get("spark_properties", {}).get("properties", {}).get("headwater.stamp") for each in facets}
    return (described | stamped) - {None}
