"""Notices for people: all kinds, their unique ids, and signatures that the receiver can verify."""

import json
import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headwater.common.errors import WrongSetting
from headwater.governance.reconcile.events import finding_event
from headwater.governance.reconcile.histories.entry import HistorySpan
from headwater.questions.answer_types.reports import Finding
from headwater.sinks.connecting.secrets import Secrets
from headwater.sinks.control.service import preview_payloads
from headwater.sinks.interface.target_registry import open_sink
from headwater.sinks.targets.webhook.target import sign_notices
from tests.support.data.made_events import body, dataset_event, run_event
from tests.support.data.sink_world import SinkWorld, bodies, events, no_token, sink
from tests.support.paths import ROOT
from tests.support.servers.sink_target import Asked, Said, SinkServer, sink_server

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
ENVIRONMENT = {"HOOK": SECRET}
FACET = {"_producer": "https://example.org", "_schemaURL": "https://example.org/facet.json"}


def hook(url: str, **options: Any) -> Any:
    of_events = {"notices": ["run.failed", "schema.changed"]}
    return sink(type="webhook", url=url, secret={"env": "HOOK"}, every="1ms", **of_events | options)


def table(name: str, *columns: str) -> dict[str, Any]:
    """Return a dataset with a schema of columns, each `NAME TYPE`."""
    fields = [dict(zip(("name", "type"), column.split(" "), strict=True)) for column in columns]
    return {"namespace": "postgres://db", "name": name, "facets": {"schema": FACET | {"fields": fields}}}


def wrote(minute: int, *outputs: dict[str, Any], **more: Any) -> dict[str, Any]:
    return run_event(**{"eventTime": f"2026-03-01T12:{minute:02}:00Z", "outputs": [*outputs]} | more)


def told(world: SinkWorld, *made: dict[str, Any], **options: Any) -> list[dict[str, Any]]:
    """Return the notices about events that reach the lake as one batch."""
    world.store(*bodies(made))
    with sink_server() as server:
        world.settle(hook(server.url, **options), ENVIRONMENT)
        return server.taken


def verify(body: bytes, headers: dict[str, str], secret: str) -> bool:
    """Run the code that docs/reference/sinks.md gives to receivers."""
    docs = (ROOT / "docs/reference/sinks.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", docs, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    return bool(names["is_genuine"](body, headers, secret))


@pytest.mark.slow
def test_a_run_that_failed_is_told_with_its_message_and_one_that_did_not_is_not(tmp_path: Path) -> None:
    failed = run_event(eventType="FAIL")
    failed["run"]["facets"] = {"errorMessage": FACET | {"message": "disk full " * 500, "programmingLanguage": "JVM"}}
    (notice,) = told(SinkWorld(tmp_path), failed, *events(2), run_event(eventType="START"))
    assert notice["id"].startswith("msg_")
    assert notice | {"id": ""} == {
        "type": "run.failed",
        "id": "",
        "timestamp": "2026-03-01T12:00:00.000Z",
        "data": {
            "runId": failed["run"]["runId"],
            "job": {"namespace": "tests", "name": "job"},
            "state": "FAIL",
            "message": ("disk full " * 500)[:1000],
        },
    }


@pytest.mark.slow
def test_a_failed_run_of_spark_is_told_with_the_message_of_its_exception(tmp_path: Path) -> None:
    failed = run_event(eventType="FAIL")
    failed["run"]["facets"] = {"spark.exception": FACET | {"message": "stage failed", "stackTrace": "E\n\tat a.b(c)"}}
    (notice,) = told(SinkWorld(tmp_path), failed)
    assert notice["data"]["message"] == "stage failed"


def test_who_did_not_report_is_told_once_for_the_same_findings_and_a_clean_comparison_is_not(tmp_path: Path) -> None:
    def compared(until_us: int, *names: str) -> dict[str, Any]:
        found = [
            Finding(kind="not_reported", certain=True, name=name, time="2026-03-01T12:00:00Z", reason="r", advice="a")
            for name in names
        ]
        event: dict[str, Any] = json.loads(finding_event("nightly", found, HistorySpan(0, until_us)))
        return event

    foreign = compared(1) | {"job": {"namespace": "headwater", "name": "reconcile/foreign"}}
    made = compared(1_000_000, "load"), compared(2_000_000, "load"), compared(3_000_000), compared(4_000_000, "b", "c")
    first, again, other = told(SinkWorld(tmp_path), *made, foreign, notices=["unreported.found"])
    assert (first["id"] == again["id"], first["id"] == other["id"]) == (True, False)
    assert first["data"] == {
        "comparison": "nightly",
        "since": "1970-01-01T00:00:00.000Z",
        "until": "1970-01-01T00:00:01.000Z",
        "total": 1,
        "kinds": {"not_reported": 1},
        "findings": [
            {"kind": "not_reported", "name": "load", "time": "2026-03-01T12:00:00Z", "id": None, "run": None,
             "version": None, "reason": "r", "advice": "a"}
        ],
    }  # fmt: skip
    assert other["data"]["kinds"] == {"not_reported": 2}


def test_a_run_that_says_twice_that_it_failed_gives_one_id_and_another_run_another(tmp_path: Path) -> None:
    first, other = run_event(eventType="ABORT"), run_event(eventType="ABORT")
    again = first | {"eventTime": "2026-03-01T12:05:00Z"}
    one, two, three = told(SinkWorld(tmp_path), first, other, again)
    assert (one["id"] == three["id"], one["id"] == two["id"]) == (True, False)


@pytest.mark.slow
def test_a_changed_schema_is_told_with_what_came_went_and_is_of_another_type(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    assert told(world, wrote(0, table("t", "a int", "b int", "c int"), table("u", "x int"))) == []
    last = wrote(1, table("t", "a long", "b int", "d int"), table("u", "x int"))
    (notice,) = told(world, last)
    assert notice["type"] == "schema.changed"
    assert notice["data"] == {
        "runId": last["run"]["runId"],
        "job": {"namespace": "tests", "name": "job"},
        "datasets": [
            {
                "namespace": "postgres://db", "name": "t",
                "added": [{"name": "d", "type": "int"}], "addedTotal": 1,
                "removed": [{"name": "c", "type": "int"}], "removedTotal": 1,
                "retyped": [{"name": "a", "from": "int", "to": "long"}], "retypedTotal": 1,
            }
        ],
        "datasetsTotal": 1,
    }  # fmt: skip


def test_what_says_nothing_of_a_schema_changes_none(tmp_path: Path) -> None:
    described = table("t", "a int")
    described["facets"]["schema"]["fields"][0]["description"] = "the first"
    reads = wrote(2) | {"inputs": [table("t", "z int")]}
    quiet = [
        wrote(0, table("t", "a int")), wrote(1, described), reads, wrote(3, table("t") | {"facets": {}}),
        wrote(4, table("t", "q int"), eventType="START"), wrote(5, table("t", "q int"), eventType="FAIL"),
        wrote(6, table("t", "a int")),
    ]  # fmt: skip
    assert [each["type"] for each in told(SinkWorld(tmp_path), *quiet)] == ["run.failed"]


def test_in_one_batch_each_schema_is_compared_with_the_one_before_it_in_time(tmp_path: Path) -> None:
    late, first, last = wrote(1, table("t", "b int")), wrote(0, table("t", "a int")), wrote(2, table("t", "c int"))
    declared = dataset_event(dataset=table("t", "d int"), eventTime="2026-03-01T12:03:00Z")
    found = told(SinkWorld(tmp_path), first, last, late, declared)
    gone = [each["data"]["datasets"][0]["removed"][0]["name"] for each in found]
    assert gone == ["b", "a", "c"]
    assert "runId" not in found[-1]["data"]


def test_only_what_is_wanted_is_told_and_preview_shows_it(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    made = [wrote(0, table("t", "a int")), wrote(1, table("t", "b int")), run_event(eventType="FAIL")]
    found = told(world, *made, notices=["schema.changed"])
    assert [each["type"] for each in found] == ["schema.changed"]
    with closing(open_sink(hook("http://127.0.0.1:1"), Secrets(no_token, ENVIRONMENT).reveal)) as target:
        (shown,) = preview_payloads(world.bronze, target, made[1]["run"]["runId"])
    assert json.loads(shown["payload"]) == found[0]


def sent(server: SinkServer) -> Asked:
    (asked,) = server.asked
    return asked


def test_a_receiver_tells_a_notice_that_is_ours_from_one_that_is_not(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    world.store(body(run_event(eventType="FAIL")))
    with sink_server() as server:
        world.settle(hook(f"{server.url}/hooks/lineage"), ENVIRONMENT)
        asked = sent(server)
    assert asked.path == "/hooks/lineage"
    text, headers = json.dumps(asked.events[0], separators=(",", ":")).encode(), {**asked.headers}
    assert headers["webhook-id"] == asked.events[0]["id"]
    assert verify(text, headers, SECRET)
    assert not verify(text + b" ", headers, SECRET)
    assert not verify(text, headers, "whsec_" + "A" * 32)
    assert not verify(text, headers | {"webhook-id": "msg_other"}, SECRET)
    old = signed_at(text, 1_700_000_000)
    assert not verify(text, old, SECRET)


def signed_at(text: bytes, sent_s: int) -> dict[str, str]:
    """Sign as the specification describes, without the sink's code."""
    import base64
    import hashlib
    import hmac

    name, key = json.loads(text)["id"], base64.b64decode(SECRET.removeprefix("whsec_"))
    made = hmac.new(key, b"%s.%d.%s" % (name.encode(), sent_s, text), hashlib.sha256).digest()
    signature = "v1," + base64.b64encode(made).decode()
    return {"webhook-id": name, "webhook-timestamp": str(sent_s), "webhook-signature": signature}


def test_the_signature_is_that_of_the_specification() -> None:
    import base64

    text = b'{"id":"msg_p5jXN8AQM9LWM0D4loKWxJek","test": 2432232314}'
    headers = sign_notices(base64.b64decode(SECRET.removeprefix("whsec_")))("POST", "https://x", text)
    assert headers == signed_at(text, int(headers["webhook-timestamp"]))


def test_a_notice_that_is_refused_is_a_dead_letter_and_a_bad_gateway_is_waited_for(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    world.store(*bodies([run_event(eventType="FAIL"), run_event(eventType="FAIL")]))
    with sink_server() as server:
        answers = iter([Said(502), Said(410)])
        server.answer = lambda _: next(answers, Said())
        world.settle(hook(server.url), ENVIRONMENT)
        assert len(server.taken) == 1
    assert [*world.dead().values()] == ["status 410: {}"]


def test_a_secret_that_is_none_and_options_that_fit_nothing_are_named() -> None:
    with pytest.raises(WrongSetting, match=r"whsec_.*Create one") as error:
        open_sink(hook("http://127.0.0.1:1"), Secrets(no_token, {"HOOK": "whsec_short"}).reveal)
    assert "whsec_short" not in str(error.value)
    with pytest.raises(WrongSetting, match=r"compress: Input should be False"):
        hook("http://127.0.0.1:1", compress=True)
    with pytest.raises(WrongSetting, match=r"notices.*run\.failed"):
        hook("http://127.0.0.1:1", notices=["run.late"])


def test_a_check_sends_a_signed_ping() -> None:
    with (
        sink_server() as server,
        closing(open_sink(hook(server.url), Secrets(no_token, ENVIRONMENT).reveal)) as target,
    ):
        assert target.check() == "it responds with status 200 to a signed ping"
        assert sent(server).headers["webhook-signature"].startswith("v1,")
        server.answer = lambda _: Said(401)
        with pytest.raises(WrongSetting, match="401"):
            target.check()
