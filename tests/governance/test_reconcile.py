"""Find executions without lineage: the command compares job history with stored runs, as in CI. Exact lists."""

import csv
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

import httpx
import pytest

from headwater.events.transport_losses import loss_event
from tests.support.commands import commanded
from tests.support.data.reconcile_world import SPARK, Json, kinds, land, reconcile, run_events, stamp
from tests.support.running import Running, headwater
from tests.support.waiting import rest

pytestmark = pytest.mark.slow  # imports the whole command and starts Headwater

MINUTE_US = 60_000_000
AGO_US = time.time_ns() // 1000 - 120 * MINUTE_US
TABLE = {"namespace": "file", "name": "/lake/t"}


def run_id(number: int) -> str:
    return f"0193a2b4-0000-7000-8000-{number:012}"


def of_application(app: str) -> Json:
    return {"spark_applicationDetails": {"applicationId": app}}


def exported(folder: Path, rows: Sequence[tuple[str, str, int, int | None]]) -> str:
    """Write (id, name, began, ended) as a scheduler exports them. Returns the argument that names the history."""
    file = folder / "jobs.csv"
    with file.open("w", newline="") as text:
        writer = csv.writer(text)
        writer.writerow(("id", "name", "state", "started", "ended"))
        for name, job, began, ended in rows:
            writer.writerow((name, job, "success", stamp(began), stamp(ended) if ended else ""))
    return f"csv:{file}"


def test_executions_are_found_by_their_ids_by_parents_and_else_by_name_and_time(tmp_path: Path) -> None:
    end = AGO_US + 10 * MINUTE_US
    land(
        tmp_path / "data",
        [
            *run_events("by_id", AGO_US, end, facets=of_application("app-1"), run=run_id(1)),
            *run_events("by_id.write", AGO_US, end, parent=run_id(1), outputs=[TABLE]),
            *run_events("by_name", AGO_US, end),
            *run_events("other_app", AGO_US, end, facets=of_application("app-99")),
            *run_events("opened", AGO_US, None, facets=of_application("app-5"), run=run_id(5)),
            *run_events("opened.write", AGO_US, end, parent=run_id(5), outputs=[TABLE]),
            # jobs of RDDs often have no end event
            *run_events("opened.map_partitions", AGO_US, None, parent=run_id(5)),
        ],
    )
    rows = [
        ("app-1", "whatever", AGO_US, end),
        ("2", "ByName", AGO_US, end),
        ("3", "by_name", AGO_US + 60 * MINUTE_US, end + 60 * MINUTE_US),  # the same job, an hour later
        ("4", "other_app", AGO_US, end),  # the run with this name belongs to a different application
        ("app-5", "opened", AGO_US, end),
        ("6", "still_runs", AGO_US, None),
        ("7", "just_ended", AGO_US, time.time_ns() // 1000 - MINUTE_US),
    ]

    found = reconcile(tmp_path / "data", "--history", exported(tmp_path, rows))

    assert sorted((each["kind"], each["id"], each["run"], each["certain"]) for each in found["items"]) == [
        ("never_ended", "app-5", run_id(5), True),
        ("not_reported", "3", None, True),
        ("not_reported", "4", None, True),
    ]
    assert found["looked"] == {"executions": 7, "tables": 0, "runs": 7}
    later = ("--grace", "10s", "--fail-on", "not_reported", "--fail-on", "dropped")
    assert kinds(reconcile(tmp_path / "data", "--history", exported(tmp_path, rows[6:]), *later)) == [
        ("not_reported", "just_ended")
    ]
    reconcile(tmp_path / "data", "--history", exported(tmp_path, rows[4:5]), "--fail-on", "not_reported", status=0)


def test_an_application_that_reports_no_dataset_is_told_and_fails_no_build(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    times = {"App ID": "app-1", "App Name": "rdds", "Timestamp": AGO_US // 1000}
    (logs / "app-1").write_text(
        "\n".join(
            json.dumps({"Event": f"SparkListenerApplication{each}", **times}, separators=(",", ":"))
            for each in ("Start", "End")
        )
    )
    land(tmp_path / "data", run_events("rdds", AGO_US, AGO_US, facets=of_application("app-1"), producer=SPARK))

    found = reconcile(tmp_path / "data", "--history", f"eventlogs:{logs}", status=0)

    assert kinds(found) == [("no_datasets", "rdds")]


def test_an_application_whose_log_breaks_off_is_told_though_its_jobs_ended(tmp_path: Path) -> None:
    """After a kill, the listener's start event may be missing or belong to a job `unknown` (Spark 3.5.7)."""
    log = tmp_path / "logs" / "app-1.inprogress"
    log.parent.mkdir()
    times = {"App ID": "app-1", "App Name": "nightly", "Timestamp": AGO_US // 1000}
    log.write_text(json.dumps({"Event": "SparkListenerApplicationStart", **times}, separators=(",", ":")))
    os.utime(log, (AGO_US / 1e6, AGO_US / 1e6))
    wrote = run_events("nightly.save", AGO_US, AGO_US, facets=of_application("app-1"), outputs=[TABLE], producer=SPARK)
    land(tmp_path / "data", wrote)

    found = reconcile(tmp_path / "data", "--history", f"eventlogs:{log.parent}", "--silent", "1h", status=1)

    assert [(each["kind"], each["id"], each["run"], each["certain"]) for each in found["items"]] == [
        ("never_ended", "app-1", None, False)
    ]


def test_what_a_transport_dropped_is_told_with_its_count(tmp_path: Path) -> None:
    said = {"transport": "onelake", "application": "app-1", "applicationName": "nightly", "dropped": 12}
    line = {"headwater": {**said, "queueFull": 12, "since": stamp(AGO_US), "until": stamp(AGO_US + MINUTE_US)}}
    event = loss_event(json.dumps(line).encode())
    assert event
    foreign = {"eventTime": stamp(AGO_US), "producer": "x", "schemaURL": "x", "job": {"namespace": "n", "name": "j"}}
    foreign["job"]["facets"] = {"headwater_transportLosses": {"dropped": "many"}}  # type: ignore[index]
    land(tmp_path / "data", [event, json.dumps(foreign).encode()])

    found = reconcile(tmp_path / "data", "--history", exported(tmp_path, []))

    assert [(each["kind"], each["name"], each["id"], each["count"]) for each in found["items"]] == [
        ("dropped", "headwater/nightly", "app-1", 12)
    ]


def test_one_application_a_thousand_times_each_attempt_with_its_own_runs(tmp_path: Path) -> None:
    """Every second attempt reported. All attempts have the same application id."""
    began = [AGO_US + number * 6_000_000 for number in range(1_000)]
    bodies = [
        body
        for number, us in enumerate(began)
        if number % 2
        for body in run_events("again", us, us + 1_000_000, facets=of_application("app-1"))
    ]
    land(tmp_path / "data", bodies)
    rows = [("app-1", "again", us, us + 1_000_000) for us in began]

    found = reconcile(tmp_path / "data", "--history", exported(tmp_path, rows), "--slack", "1s")

    assert found["counts"] == {"not_reported": 500}
    assert found["looked"]["runs"] == 500


def test_a_running_headwater_is_asked_over_http_with_a_key(tmp_path: Path) -> None:
    keys = json.dumps([{"name": "ci", "key": "the-key-of-ci-of-these-tests", "roles": ["read", "write"]}])
    rows = [("1", "silent", AGO_US, AGO_US + MINUTE_US), ("2", "tells", AGO_US, AGO_US + MINUTE_US)]
    history = exported(tmp_path, rows)
    sent = tmp_path / "events.ndjson"
    sent.write_bytes(b"\n".join(run_events("tells", AGO_US, AGO_US + MINUTE_US)))
    key = {"HEADWATER_KEY": "the-key-of-ci-of-these-tests"}
    with Running(tmp_path / "data", environment={"HEADWATER_KEYS": keys}) as running:
        assert commanded("send", sent, "--server", running.url, environment=key).returncode == 0
        command = ("reconcile", "--server", running.url, "--history", history, "--json", "--grace", "1s")
        found = commanded(*command, environment=key)
        # the command reports itself up to when events have been stored
        while json.loads(found.stdout)["looked"]["runs"] == 0:
            rest()
            found = commanded(*command, environment=key)
        found = headwater(*command, environment=key)  # starts a process, as CI does
        refused = commanded(*command)
    assert (found.returncode, found.stderr) == (1, "")
    assert kinds(json.loads(found.stdout)) == [("not_reported", "silent")]
    assert refused.returncode == 3
    assert "key" in refused.stderr


def test_kept_findings_are_answered_until_the_next_comparison_of_that_name(tmp_path: Path) -> None:
    end = AGO_US + MINUTE_US
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    silent = exported(first, [("1", "silent", AGO_US, end), ("2", "<b>hush", AGO_US, end)])
    clean = exported(second, [])
    with Running(tmp_path / "data") as running:
        command = ("reconcile", "--server", running.url, "--json", "--fail-on", "none", "--history")

        def kept(history: str, name: str) -> None:
            assert commanded(*command, history, "--save", name).returncode == 0

        def told(*findings: int) -> Json:
            """Ask until each comparison has the given number of findings, so that the index includes all
            sent events.
            """
            while True:
                answer = httpx.get(f"{running.url}/api/headwater/v1/unreported")
                found: Json = answer.json()
                assert answer.status_code in (200, 503), found
                if answer.status_code == 200 and [each["findings"] for each in found["comparisons"]] == list(findings):
                    return found
                rest()

        assert told()["items"] == []
        kept(silent, "nightly")
        kept(silent, "spark")
        found = told(2, 2)
        assert [(each["comparison"], *each_kind(each)) for each in found["items"]] == [
            ("nightly", "not_reported", "<b>hush"),
            ("spark", "not_reported", "<b>hush"),
            ("nightly", "not_reported", "silent"),
            ("spark", "not_reported", "silent"),
        ]
        kept(clean, "nightly")
        last = told(0, 2)
        assert {each["comparison"] for each in last["items"]} == {"spark"}
        assert [each["kinds"] for each in last["comparisons"]] == [{}, {"not_reported": 2}]
        scraped = httpx.get(f"{running.url}/metrics").text.splitlines()
        assert 'headwater_findings{kind="not_reported"} 2.0' in scraped
        assert 'headwater_findings{kind="dropped"} 0.0' in scraped
        ages = [float(line.split()[1]) for line in scraped if line.startswith("headwater_comparison_seconds{")]
        assert len(ages) == 2
        assert min(ages) > 0
    listed = json.loads(commanded("unreported", "--data", tmp_path / "data", "--json").stdout)
    assert kinds(listed) == [("not_reported", "<b>hush"), ("not_reported", "silent")]


def each_kind(finding: Json) -> tuple[str, str]:
    return finding["kind"], finding["name"]


def test_wrong_settings_are_one_line_each(tmp_path: Path) -> None:
    land(tmp_path / "data", [])
    (tmp_path / "empty").mkdir()
    history = exported(tmp_path, [])
    for arguments, said in (
        ((), "nothing to compare the received runs with"),
        (("--history", "yarn:x"), "is not a known history"),
        (("--history", history, "--window", "soon"), "is not a duration"),
        (("--history", history, "--fail-on", "all"), "is not a kind"),
        (("--tables", tmp_path / "empty"), "There is no Delta table at"),
        (("--tables", tmp_path / "none"), "Cannot read the tables at"),
        (("--history", history, "--save", "nightly"), "needs a running Headwater"),
        (("--history", history, "--server", "http://127.0.0.1:9"), "exclude each other"),
    ):
        done = commanded("reconcile", "--data", tmp_path / "data", *arguments)
        assert (done.returncode, done.stdout) == (3, ""), (arguments, done)
        assert said in done.stderr
        assert done.stderr.count("\n") == 1
    assert "No answer from" in commanded("reconcile", "--history", history, "--server", "http://127.0.0.1:9").stderr
    assert os.environ.get("HEADWATER_KEY") is None
