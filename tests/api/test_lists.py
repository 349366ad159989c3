"""Lists return each item once even if items are added between pages. Totals, ties, hostile names and wrong cursors."""

import json
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import to_builtins

from headwater.api import identity_routes, routes, sink_routes
from headwater.api.responses import run_question
from headwater.auth.access import Caller, Key
from headwater.auth.keys import KeyFile, KeyManager, KeyRequest
from headwater.auth.private_file import PrivateFile
from headwater.cli.text_format import dataset_text, escape_unprintable
from headwater.common.errors import NotKnown, WrongQuestion, WrongSetting
from headwater.common.paging import ListPage, RowOrder
from headwater.index.reading.run_history import RunHistory
from headwater.index.reading.view_opener import ViewOpener
from headwater.operations.runtime.index import open_view_opener
from headwater.operations.runtime.sinks import open_ledger, open_sink_service
from headwater.questions import definitions
from headwater.questions.declaring import Question, questions_in
from headwater.questions.registry import QUESTIONS
from headwater.tables import SINK_FAILURES
from tests.reference.small_events import CLEAR, made
from tests.reference.world_events import Json, dataset, facet, run_event, schema, source, uuid
from tests.support.data.hostile_names import NAMES, NAMESPACE, copies
from tests.support.data.parsing import World

JOBS, RUNS = 23, 4
LAKE = "s3://lists"
ADMIN = Caller("boss", frozenset({"admin"}))
LANDED = dataset(("file", "/landing/orders"), schema=schema(["a.b", "id"]))
SPARK = {"processingType": "BATCH", "integration": "SPARK"}
KEEPERS = tuple(f"{number:08x}{uuid(1)[8:]}" for number in (1, 2))
"""Ids of runs whose beginnings no other run shares."""

BEGAN = datetime(2026, 3, 1, tzinfo=UTC)
LISTS: dict[str, tuple[Question, dict[str, str], tuple[str, ...]]] = {
    "datasets": (definitions.datasets, {}, (
        "name", "namespace", "owners", "tags", "columns", "last_seen", "last_written", "job", "integration", "state",
        "duration")),
    "jobs": (definitions.listed_jobs, {}, (
        "name", "namespace", "owners", "tags", "integration", "processing", "last_seen", "state", "started",
        "duration")),
    "runs": (definitions.listed_runs, {}, ("time", "started", "ended", "duration", "state", "job", "namespace", "id")),
    "unused": (definitions.unused, {}, (
        "namespace", "dataset", "column", "verdict", "reason", "observed_since", "last_used")),
    "surface": (definitions.surface, {}, (
        "exposure", "exposed_until", "namespace", "dataset", "column", "from", "job")),
    "coverage": (definitions.coverage, {}, ("kind", "namespace", "name", "reason")),
    "diff": (definitions.diff, {"from": "2026-01-01"}, ("change", "from", "to_namespace", "to", "type", "job")),
    "timeline": (definitions.timeline, {"dataset": "t3"}, ("time", "change", "job", "from", "to")),
    "events": (routes.events, {}, (
        "received_at", "event_time", "event_type", "job_name", "job_namespace", "run_id", "producer")),
    "failures": (sink_routes.failures, {"sink": "out"}, (
        "received_at", "failed_at", "event_id", "run_id", "reason", "attempts")),
    "keys": (identity_routes.keys, {}, ("name", "id", "made", "made_by", "owner", "expires", "last_used", "kept")),
}  # fmt: skip


def events() -> Iterator[Json]:
    """Yield runs of jobs that each write a table from the previous one, many at the same time so that there
    are ties.
    """
    for number in range(JOBS * RUNS):
        job, moment = number % JOBS, BEGAN + timedelta(minutes=number // 10)
        owners = {"ownership": facet(owners=[{"name": f"team {job % 3}"}])} if job % 2 else {}
        tags = {"tags": facet(tags=[{"key": "pii", "value": "true", "field": "x"}])} if job == 0 else {}
        column = "xy"[number // JOBS % 2] if job == 2 else "x"  # the source column of t3 changes
        fields = {
            "x": [source((LAKE, f"t{job}"), column, CLEAR)],
            "y": [source(("file", "/landing/orders"), "id", CLEAR)],
        }
        output = made((LAKE, f"t{job + 1}"), fields, columns="x y", **owners, **tags)
        told: Json = {"outputs": [output], "inputs": [], "job_facets": {"jobType": facet(**SPARK), **owners}}
        kind = "FAIL" if job % 5 == 0 and number >= JOBS * (RUNS - 1) else "COMPLETE"
        yield run_event("START", moment.isoformat(), uuid(number + 1), ("jobs", f"job{job}"), **told)
        end = (moment + timedelta(seconds=job % 4)).isoformat()
        yield run_event(kind, end, uuid(number + 1), ("jobs", f"job{job}"), **told)
    kept = made(("s3://night", "kept"), {"x": []}, columns="x")
    facets = {"jobType": facet(**SPARK), "tags": facet(tags=[{"key": "nightly", "value": "true"}])}
    for number, kind in ((1, "COMPLETE"), (2, "START")):  # the second run never ends, so it is lost
        at_time = f"2026-03-03T0{number}:00:00Z"
        told = {"outputs": [kept, LANDED], "inputs": [], "job_facets": facets}
        yield run_event(kind, at_time, KEEPERS[number - 1], ("night", "keeper"), **told)


class SnapshotStore:
    """A lake and its index, and functions to ask both."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.open_views: ViewOpener = open_view_opener(world.settings, world.folder)
        (world.folder / "sinks.yml").write_text("version: 1\nsinks: {out: {type: file, folder: /tmp/out}}\n")
        self.sinks = open_sink_service(world.settings, world.folder)
        self.keys = self._desk()

    def _desk(self) -> KeyManager:
        """Add dead letters, some written twice as after a crash, and create keys, some in the settings."""
        ledger, rows = open_ledger(self.world.settings), []
        ledger.create()
        for number in range(24):
            place = ("out", "local", "1", str(number % 2), number // 2, 10**15 + number // 5)
            rows += [(number, (*place, f"{number:032x}", None, f"status {number % 3}", number % 4, 10**15 + at))
                     for at in range(1 + (number == 7))]  # fmt: skip
        table = ledger.tables[SINK_FAILURES.name]
        table.append_once("out", table.prepare(rows), 24)
        folder = self.world.folder
        file = KeyFile(PrivateFile(folder / "keys.json"), PrivateFile(folder / "used.json"), reload_every_s=0.0)
        roles = (("ci", "read"), ("ci", "write"), ("spark", "write"))
        fixed = [
            Key.model_validate({"name": name, "key": f"{name} {role} key", "roles": [role]}) for name, role in roles
        ]
        desk = KeyManager(file, fixed)
        for number in range(9):
            desk.create_key(ADMIN, KeyRequest(f"key {number // 2}", ["read"]))
        return desk

    def store(self, bodies: Sequence[bytes]) -> None:
        self.world.append(*bodies)
        parser = self.world.parser()
        while parser.commit_next():
            pass
        self.open_views.close()
        self.open_views = open_view_opener(self.world.settings, self.world.folder)

    def ask(self, question: Question, **asked: Any) -> Any:
        sources = SimpleNamespace(
            open_views=self.open_views,
            bronze=self.world.bronze,
            sinks=self.sinks,
            keys=self.keys,
            caller=ADMIN,
            rules=self.open_views.active_rules,
        )
        places = [each.key for each in question.parameters if each.place == "path"]
        path = {name: asked.pop(name) for name in places if name in asked}
        answer: Any = to_builtins(
            question.ask(sources, {name: str(value) for name, value in asked.items() if value}, **path)
        )
        for item in answer["items"] if "readers" in answer else ():
            item["readers"] = answer["readers"][item["readers"]]  # positions are only valid within one page
        return answer

    def pages(self, question: Question, **asked: Any) -> Iterator[Any]:
        cursor = ""
        while True:
            answer = self.ask(question, **asked, cursor=cursor)
            yield answer
            assert answer["truncated"] == (answer["next"] is not None)
            if answer["next"] is None:
                return
            cursor = answer["next"]


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SnapshotStore]:
    found = SnapshotStore(World(tmp_path_factory.mktemp("lists")))
    found.store([*(json.dumps(event).encode() for event in events()), *copies()])
    yield found
    found.open_views.close()


def told(items: Sequence[Any]) -> list[str]:
    return [json.dumps(item, sort_keys=True) for item in items]


SORTED = [(name, f"{sign}{sort}") for name, (*_, sorts) in LISTS.items() for sort in sorts for sign in ("", "-")]


@pytest.mark.parametrize(("name", "sort"), SORTED)
def test_pages_are_the_whole_list_in_its_order(shelf: SnapshotStore, name: str, sort: str) -> None:
    question, asked, _ = LISTS[name]
    whole = shelf.ask(question, **asked, sort=sort, limit=1_000)
    assert whole["next"] is None
    assert len(set(told(whole["items"]))) == whole["totalCount"] > 1
    limit = max(1, whole["totalCount"] // 5)
    pages = list(shelf.pages(question, **asked, sort=sort, limit=limit))
    assert told([item for page in pages for item in page["items"]]) == told(whole["items"])
    assert {page["totalCount"] for page in pages} == {whole["totalCount"]}


@pytest.mark.parametrize("name", LISTS)
def test_a_wrong_sort_or_cursor_says_what_to_do(shelf: SnapshotStore, name: str) -> None:
    question, asked, (sort, other, *_) = LISTS[name]
    with pytest.raises(WrongQuestion, match=f"{name} cannot be sorted by 'nothing'. Use sort= with one of .*{sort}"):
        shelf.ask(question, **asked, sort="nothing")
    cursor = shelf.ask(question, **asked, sort=sort, limit=1)["next"]
    cells: list[Any] = [[], [["x"]], [1], [1 << 99, 1]]
    values = [{}, ["others", sort, [1, 2]], *([name, sort, each] for each in cells)]
    forged = [urlsafe_b64encode(json.dumps(value).encode()).decode() for value in values]
    for wrong in ("x", "é", "////", cursor[:-3], *forged):
        with pytest.raises(WrongQuestion, match="Start without a cursor"):
            shelf.ask(question, **asked, sort=sort, cursor=wrong)
    with pytest.raises(WrongQuestion, match="the same `sort`"):
        shelf.ask(question, **asked, sort=other, cursor=cursor)


def test_a_forged_cell_of_another_kind_is_refused_by_the_lake(shelf: SnapshotStore) -> None:
    cursor = urlsafe_b64encode(json.dumps(["events", "-received_at", ["' OR 1", "a", "b", 1]]).encode()).decode()
    with pytest.raises(WrongQuestion, match="Start without a cursor"):
        shelf.ask(routes.events, cursor=cursor)


def test_filters_count_what_they_let_through(shelf: SnapshotStore) -> None:
    failed = shelf.ask(definitions.listed_jobs, state="FAIL")
    assert {item["name"] for item in failed["items"]} == {f"job{job}" for job in range(0, JOBS, 5)}
    assert shelf.ask(definitions.listed_runs, state="FAIL", limit=2)["totalCount"] == failed["totalCount"] == 5
    owned = shelf.ask(definitions.datasets, owner="team 1", namespace=LAKE)
    assert {item["name"] for item in owned["items"]} == {
        f"t{job + 1}" for job in range(JOBS) if job % 2 and job % 3 == 1
    }
    assert owned["choices"]["namespaces"] == {LAKE: JOBS + 1, NAMESPACE: len(NAMES), "s3://night": 1, "file": 1}
    (tagged,) = shelf.ask(definitions.datasets, tag="PII", namespace=LAKE)["items"]
    assert (tagged["name"], tagged["tags"], tagged["columns"], tagged["integration"]) == ("t1", ["pii"], 2, "SPARK")
    assert (tagged["job"], tagged["last_run"]["state"]) == ({"namespace": "jobs", "name": "job0"}, "FAIL")
    (run,) = shelf.ask(definitions.listed_runs, text=tagged["last_run"]["id"].upper())["items"]
    assert tagged["last_written"] < run["last_event"], "the failed run wrote no data"
    since = tagged["last_written"]
    newer = shelf.ask(definitions.datasets, since=since)["items"]
    assert newer
    assert all(item["last_written"] >= since for item in newer)
    of_job = shelf.ask(definitions.listed_runs, job="job3", namespace="jobs")
    assert [item["duration"] for item in of_job["items"]] == [3.0] * RUNS
    answer = shelf.ask(definitions.unused, verdict="unused", limit=1)
    assert answer["totalCount"] == answer["verdicts"]["unused"] > len(answer["items"])
    assert shelf.ask(definitions.surface, exposure="masked")["exposures"]["exposed"] > 0


Test = Callable[[Any], bool]


def _named(*members: str) -> Callable[[str], Test]:
    return lambda text: lambda item: any(text in (item[member] or "") for member in members)


def _anywhere(text: str) -> Test:
    return lambda item: any(text in each for each in _texts(item))


def _texts(item: Any) -> Iterator[str]:
    for each in item.values() if isinstance(item, dict) else item if isinstance(item, list) else ():
        yield from [each] if isinstance(each, str) else _texts(each)


def _equal(member: str, part: str | None = None) -> Callable[[str], Test]:
    return lambda value: lambda item: (item[member][part] if part and item[member] else item[member]) == value


def _has(member: str) -> Callable[[str], Test]:
    return lambda value: lambda item: value in item[member]


def _since(member: str) -> Callable[[str], Test]:
    return lambda value: lambda item: item[member] is not None and item[member] >= value


def _until(member: str) -> Callable[[str], Test]:
    return lambda value: lambda item: item[member] is not None and item[member] < value


def _last_state(value: str) -> Test:
    """Return a filter by the state of the last run. The only run here that never ends is lost."""
    return lambda item: bool(item["last_run"]) and item["last_run"]["state"] == {"LOST": "RUNNING"}.get(value, value)


_THING = {"namespace": _equal("namespace"), "owner": _has("owners"), "tag": _has("tags"), "state": _last_state}
MEANING: dict[str, dict[str, Callable[[str], Test]]] = {
    "datasets": {
        **_THING, "since": _since("last_written"), "until": _until("last_written"), "text": _named("name", "namespace")
    },
    "jobs": {**_THING, "since": _since("last_seen"), "until": _until("last_seen"), "text": _named("name", "namespace")},
    "runs": {
        "namespace": _equal("job", "namespace"), "job": _equal("job", "name"),
        "state": lambda value: lambda item: item["state"] == {"LOST": "RUNNING"}.get(value, value),
        "since": _since("last_event"), "until": _until("last_event"), "text": _equal("id"),
    },
    "unused": {
        "dataset": _equal("dataset"), "verdict": _equal("verdict"),
        "text": _named("dataset", "namespace", "column"),
    },
    "surface": {"exposure": _equal("exposure"), "text": _anywhere},
    "coverage": {"kind": _equal("kind"), "text": _anywhere},
    "diff": {"change": _equal("change")},
    "timeline": {"since": _since("time")},
    "events": {"run": _equal("run_id"), "job": _equal("job_name"), "since": _since("received_at")},
    "failures": {"text": _named("reason")},
    "keys": {"text": _named("name")},
}  # fmt: skip
"""The expected meaning of each filter of each list, as a condition on an item."""

_MARCH = {"namespace": LAKE, "since": "2026-03-01T00:03:30Z", "until": "2026-03-02T00:00:00Z"}
_NIGHT = {"since": "2026-03-02T00:00:00Z", "until": "2026-04-01T00:00:00Z", "state": "LOST"}
FITTING: list[tuple[str, dict[str, str]]] = [
    ("datasets", {**_MARCH, "tag": "pii", "state": "FAIL", "text": "t1"}),
    ("datasets", {**_MARCH, "owner": "team 1", "state": "COMPLETE", "text": "t2"}),
    ("datasets", {"namespace": "s3://night", **_NIGHT, "since": "2026-03-02T00:00:00Z", "text": "kep"}),
    ("jobs", {**_MARCH, "namespace": "jobs", "owner": "team 1", "state": "COMPLETE", "text": "job1"}),
    ("jobs", {**_NIGHT, "namespace": "night", "tag": "nightly", "text": "keep"}),
    ("runs", {**_MARCH, "namespace": "jobs", "job": "job0", "state": "FAIL", "text": uuid(JOBS * (RUNS - 1) + 1)}),
    ("runs", {**_NIGHT, "namespace": "night", "job": "keeper", "text": KEEPERS[1]}),
    ("unused", {"dataset": "t3", "verdict": "unused", "text": "t3"}),
    ("surface", {"exposure": "exposed", "text": "t2"}),
    ("coverage", {"kind": "dataset", "text": NAMESPACE}),
    ("diff", {"change": "added"}),
    ("timeline", {"since": "2026-03-01T00:01:00Z"}),
    ("events", {"run": KEEPERS[1], "job": "keeper", "since": "2026-03-01T00:00:00Z"}),
    ("failures", {"text": "status 1"}),
    ("keys", {"text": "key 1"}),
]
"""For each list, filters that some item matches at the same time."""
FILTERED = [
    (name, {key: given[key] for key in keys})
    for name, given in FITTING
    for keys in ((one,) if one == other else (one, other) for one in given for other in given if one <= other)
]


@pytest.mark.parametrize(("name", "given"), FILTERED, ids=str)
def test_each_filter_alone_and_in_pairs_returns_the_items_that_fit(
    shelf: SnapshotStore, name: str, given: dict[str, str]
) -> None:
    question, asked, _ = LISTS[name]
    whole = shelf.ask(question, **asked, limit=1_000)["items"]
    tests = [MEANING[name][key](value) for key, value in given.items()]
    fitting = [item for item in whole if all(test(item) for test in tests)]
    found = shelf.ask(question, **{**asked, **given}, limit=1_000)
    assert told(found["items"]) == told(fitting) != []
    assert found["totalCount"] == len(fitting)


def test_every_filter_of_every_list_is_tried() -> None:
    """Parameters about the time or the subject are not filters of rows."""
    others = {
        "sort",
        "cursor",
        "limit",
        "system",
        "former",
        "strict",
        "view",
        "asOf",
        "knownAt",
        "seenSince",
        "window",
        "origins",
        "from",
        "to",
        "sink",
    }
    starts = {
        "unused": {"namespace"},
        "surface": {"namespace", "dataset", "column", "tag", "since"},
        "timeline": {"namespace", "dataset", "text"},
        "diff": {"text"},
        "events": {"text"},
    }
    for name, (question, *_) in LISTS.items():
        filters = {each.name for each in question.parameters} - others - starts.get(name, set())
        tried = {key for each, given in FITTING if each == name for key in given}
        assert tried == filters, name


@pytest.mark.parametrize("name", NAMES)
def test_a_hostile_name_is_found_by_its_text_and_nothing_else_is(shelf: SnapshotStore, name: str) -> None:
    for asked in ({"text": name}, {"namespace": NAMESPACE, "text": name}):
        assert [item["name"] for item in shelf.ask(definitions.datasets, **asked)["items"]] == [name]
    found = shelf.ask(definitions.listed_runs, text="' OR 1=1 --")
    assert (found["items"], found["totalCount"]) == ([], 0)


def test_every_name_that_is_printed_is_accepted(shelf: SnapshotStore) -> None:
    for item in shelf.ask(definitions.datasets, limit=1_000)["items"]:
        thing = {"namespace": item["namespace"], "dataset": item["name"], "column": None}
        whole = f"{item['namespace']}/{item['name']}"
        for text in {whole, escape_unprintable(whole), dataset_text(thing, with_namespaces=True), item["name"]}:
            found = shelf.ask(definitions.upstream, dataset=text)["column"]
            assert (found["namespace"], found["dataset"]) == (item["namespace"], item["name"]), text
    for text in ("file//landing/orders", "/landing/orders", "landing/orders", "…/landing/orders"):
        for column in ("a.b", "`a.b`", '"a.b"', "A.B"):
            found = shelf.ask(definitions.upstream, dataset=text, column=column)["column"]
            assert (found["namespace"], found["column"]) == ("file", "a.b")


def test_a_name_that_a_narrow_table_cuts_is_accepted_if_it_fits_one(shelf: SnapshotStore) -> None:
    (graph,) = (each for each in QUESTIONS.load_built_in().values() if each.called == "job-graph")
    for text in ("…ding/orders", "file//lan…/orders", "/landing/ord…", "/land...ders"):
        found = shelf.ask(definitions.upstream, dataset=text, column="a…")["column"]
        assert (found["namespace"], found["dataset"], found["column"]) == ("file", "/landing/orders", "a.b")
    assert shelf.ask(graph, job="…eeper") == shelf.ask(graph, job="keeper")
    with pytest.raises(WrongQuestion, match=r"'…ists/t1…' matches \d+ datasets: 's3://lists/t1', 's3://lists/t10'"):
        shelf.ask(definitions.upstream, dataset="…ists/t1…")
    with pytest.raises(WrongQuestion, match=r"'job1…' matches 11 jobs: 'jobs/job1', "):
        shelf.ask(graph, job="job1…")
    with pytest.raises(NotKnown):
        shelf.ask(definitions.upstream, dataset="anding/orders")


def test_the_beginning_of_a_run_id_is_accepted_by_every_question_that_takes_one(shelf: SnapshotStore) -> None:
    ids = {item["id"] for item in shelf.ask(definitions.listed_runs, limit=1_000)["items"] if item["id"][0] != "["}
    begun = Counter(each[:length] for each in ids for length in range(4, 36))
    cut = max((text for text, count in begun.items() if count == 1), key=lambda text: (-len(text), text))
    (whole,) = (each for each in ids if each.startswith(cut))
    asking = [
        each
        for each in (*QUESTIONS.load_built_in().values(), *questions_in(vars(routes)))
        if "run" in {parameter.key for parameter in each.parameters}
    ]
    assert {each.called for each in asking} >= {"run", "run-details", "hierarchy", "events"}
    for question in asking:
        for text in (cut, f"{cut}…", cut.upper()):
            assert shelf.ask(question, run=text) == shelf.ask(question, run=whole), (question.called, text)
    assert shelf.ask(definitions.diff, **{"from": f"run:{cut}"}) == shelf.ask(
        definitions.diff, **{"from": f"run:{whole}"}
    )
    assert shelf.ask(sink_routes.losses, sink="out", run=cut) == shelf.ask(sink_routes.losses, sink="out", run=whole)
    assert shelf.ask(sink_routes.preview, sink="out", of=cut) == shelf.ask(sink_routes.preview, sink="out", of=whole)
    assert shelf.open_views.query_current_index(lambda live, _: RunHistory(live).find_run_key(cut)) == whole
    with pytest.raises(NotKnown):  # requests that change a run, such as Marquez's POST …/complete, require the full id
        shelf.open_views.query_current_index(lambda live, _: RunHistory(live).find_run_key(cut, exact=True))
    odd = next(item["id"] for item in shelf.ask(definitions.listed_runs, limit=1_000)["items"] if item["id"][0] == "[")
    assert {item["run_id"] for item in shelf.ask(routes.events, run=odd)["items"]} == {json.loads(odd)[0]}
    several = next(text for text, count in begun.items() if count > 1)
    with pytest.raises(NotKnown, match="Nearest: "):
        shelf.ask(definitions.run, run=several)
    assert shelf.ask(routes.events, run=several)["items"] == []


def test_a_job_is_accepted_bare_or_qualified(shelf: SnapshotStore) -> None:
    (graph,) = (each for each in QUESTIONS.load_built_in().values() if each.called == "job-graph")
    for job in ("keeper", "night/keeper"):
        assert shelf.ask(definitions.listed_runs, job=job)["totalCount"] == 2
        assert shelf.ask(definitions.health, job=job)["items"][0]["name"] == "keeper"
        assert shelf.ask(graph, job=job)


@pytest.mark.slow
def test_runs_that_come_between_two_pages_move_nothing(tmp_path_factory: pytest.TempPathFactory) -> None:
    shelf = SnapshotStore(World(tmp_path_factory.mktemp("between")))
    bodies = [json.dumps(event).encode() for event in events()]
    shelf.store(bodies[: len(bodies) // 2])
    for question, sort in (
        (definitions.listed_runs, "-time"),
        (definitions.listed_runs, "job"),
        (definitions.listed_jobs, "name"),
    ):
        before = shelf.ask(question, sort=sort, limit=1_000)["items"]
        first = shelf.ask(question, sort=sort, limit=9)
        shelf.store(bodies[len(bodies) // 2 :])
        found, cursor = first["items"], first["next"]
        while cursor:
            page = shelf.ask(question, sort=sort, limit=9, cursor=cursor)
            found, cursor = [*found, *page["items"]], page["next"]
        names = [item.get("id") or item["name"] for item in found]
        assert len(names) == len(set(names))
        assert {item.get("id") or item["name"] for item in before} <= set(names)
    shelf.open_views.close()


def test_a_wrong_statement_is_a_fault_with_a_reference_and_leaves_the_index(
    shelf: SnapshotStore, caplog: pytest.LogCaptureFixture
) -> None:
    wrong = "SELECT state FROM runs JOIN jobs ON jobs.key = runs.job_key"
    answer = run_question(
        lambda: shelf.open_views.query_current_index(lambda live, _: live.sql.execute(wrong)), nullcontext()
    )
    body = json.loads(answer.body)
    assert answer.status_code == 500
    reference = body["error"].rpartition("reference ")[2].rstrip(".")
    assert len(reference) == 8
    assert reference in body["fix"]
    assert "sk again in a moment" not in str(body)
    assert f"Fault {reference}" in caplog.text
    assert "ambiguous column name" in caplog.text
    assert not list(shelf.world.folder.rglob("damaged")), "the error must not lead to a rebuild of the index"
    assert shelf.ask(definitions.listed_runs, state="LOST")["totalCount"] == 1


def test_a_wrong_setting_is_not_told_to_be_temporary() -> None:
    def ask() -> None:
        raise WrongSetting("`sinks.yml`, line 3: `url` is no URL. Correct it.")

    answer = run_question(ask, nullcontext())
    assert answer.status_code == 500
    assert "fails again" in json.loads(answer.body)["fix"]


def test_a_page_is_cut_alike_whatever_the_cells_are() -> None:
    chance = Random(5)
    cells = [None, "", "a", "é", "\u202e", -1, 0, 1.5, 1 << 40]
    rows = [(chance.choice(cells), number) for number in range(200)]
    order = RowOrder[tuple[Any, int]]("rows", {"cell": lambda row: row[0]}, "cell", lambda row: (row[1],), ties=1)
    for sort in ("cell", "-cell"):
        found: list[tuple[Any, int]] = []
        cursor: str | None = None
        while True:
            cut = order.page(chance.sample(rows, len(rows)), ListPage(sort=sort, cursor=cursor, limit=7))
            found, cursor = [*found, *cut.rows], cut.next
            if cursor is None:
                break
        assert sorted(found, key=str) == sorted(rows, key=str)
        assert found[0 if sort == "cell" else -1][0] is None
