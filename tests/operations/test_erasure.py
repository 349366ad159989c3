"""Forgotten text is in no file any more, in any encoding. Other data remains, and the audit stays balanced."""

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from headwater.common.errors import WrongSetting
from headwater.common.failpoints import VARIABLE
from headwater.intake.event_log import RecordKind
from headwater.intake.event_log.body_packing import decompress_body
from headwater.intake.event_log.segments import remove_segment
from headwater.lake.admin_log import Actor, open_admin_log, record_admin
from headwater.lake.bronze_retention import delete_old_events
from headwater.lake.delta_table import LakeTable
from headwater.lake.maintenance import compact_tables
from headwater.lineage.names.canonical_names import default_rules
from headwater.operations.erasure.request import ForgetRequest
from headwater.operations.erasure.search import NameTarget, TextTarget
from headwater.operations.local.log_epochs import begin_epoch
from headwater.operations.runtime.data_folder import folder_lock
from headwater.operations.runtime.index import open_view_opener
from headwater.operations.runtime.sinks import open_ledger
from headwater.operations.runtime.storage import lake_root_and_options
from headwater.tables import RUNS, SINK_FAILURES
from tests.support.data.made_events import run_event
from tests.support.data.parsing import World, event, note
from tests.support.running import headwater

pytestmark = pytest.mark.slow  # rewrites lakes

WHO = "anna.muster@example.org"
WANTED = TextTarget("text", WHO)


def said_in(folder: Path) -> list[str]:
    """Return the files that contain the text, including receipts. Only the log's decompression uses
    Headwater's code.
    """
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return [str(path) for path in files if WHO in re.sub(r"\\+u0040", "@", "".join(texts(path))).lower()]


def texts(path: Path) -> Iterator[str]:
    yield path.read_bytes().decode("utf-8", "replace")
    if path.suffix == ".parquet":
        yield json.dumps(pq.read_table(path).to_pylist(), default=str, ensure_ascii=False)
    if path.parent.name == "log" and path.suffix == ".sqlite":
        with closing(sqlite3.connect(path)) as connection:
            for kind, body in connection.execute("SELECT kind, body FROM records"):
                yield (decompress_body(body) if kind == 0 else body).decode("utf-8", "replace")


def sql_event(text: str, output: str = "target") -> bytes:
    """Encode an event with a query and an owner, as JSON with as many escapes as possible."""
    facets = {"sql": {"_producer": "p", "_schemaURL": "s", "query": f"SELECT * FROM t WHERE mail = '{text}'"}}
    made = run_event(
        job={"namespace": "n", "name": "j", "facets": facets}, outputs=[{"namespace": "n", "name": output}]
    )
    return json.dumps(made).replace("@", "\\u0040").encode()


def planted(folder: Path) -> World:
    """Create a lake with the text in every possible place, together with other events."""
    world = World(folder)
    world.append(event(1), sql_event(WHO), sql_event("someone else"), sql_event(WHO.upper()))
    world.claim(sql_event(WHO + "x" * 5000))
    world.append(f'{{"no": "event of {WHO}"}}'.encode())
    world.append(json.dumps({**json.loads(note()), "user_agent": f"curl of {WHO}"}).encode(), kind=RecordKind.REFUSAL)
    parse(world)
    compact_tables(world.bronze)
    ledger = open_ledger(world.settings)
    ledger.create()
    failures = ledger.tables[SINK_FAILURES.name]
    row = {"sink": "out", "event_id": "ab" * 16, "reason": f"owner {WHO} is not known", "sequence": 2}
    failures.append_once("out", failures.prepare([(2, tuple(row.get(name) for name in SINK_FAILURES.columns))]), 2)
    runs = LakeTable(str(world.folder / "lake" / "silver" / "g1" / "runs"), RUNS)
    runs.create({})
    cells = {"run_key": "1", "said": json.dumps({"owner": WHO})}
    runs.append_once("pass", runs.prepare([(1, tuple(cells.get(name) for name in RUNS.columns))]), 1)
    open_view_opener(world.settings, world.folder).close()
    return world


def parse(world: World) -> None:
    parser = world.parser()
    while parser.commit_next():
        pass


def receipts(world: World) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted((world.folder / "lake" / "forgotten").glob("*.json"))]


def test_a_text_is_in_no_file_afterwards_killed_in_between_and_others_keep_theirs(tmp_path: Path) -> None:
    world = planted(tmp_path)
    places = {Path(path).relative_to(tmp_path).parts[0] for path in said_in(tmp_path)}
    assert places == {"log", "claims", "lake", "index"}
    ask = ("forget", "--text", WHO, "--data", tmp_path, "--json")
    before = ForgetRequest(world.settings, WANTED).dry_run()["found"]
    assert before | {"records of the log": 5, "large bodies": 1, "events": 3, "rejected": 1, "refused": 1} == before
    assert (before["sink_failures"], before["files of silver and gold"]) == (1, 2)
    assert said_in(tmp_path)
    for point in ("after_log", "after_events", "after_history"):
        killed = headwater(*ask, environment={VARIABLE: f"forget.{point}"})
        assert killed.returncode < 0, (point, killed.stderr)
    done = headwater(*ask)
    assert done.returncode == 0, done.stderr + done.stdout
    receipt = json.loads(done.stdout)
    assert said_in(tmp_path) == []
    assert (receipt["state"], receipt["proof"]["found"], receipt["found"]) == ("done", 0, before)
    assert receipts(world) == [receipt]
    kept = World(tmp_path)
    assert kept.sequences("events") == [1, 3]
    assert kept.audit() | {"stored": 2, "removed": 3, "rejected": 1, "pending": 0, "balanced": True} == kept.audit()
    kept.append(sql_event(WHO))
    parse(kept)
    assert kept.audit() | {"stored": 3, "balanced": True} == kept.audit()


def test_a_second_request_is_done_at_once_and_has_a_receipt_of_its_own(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.append(sql_event(WHO), event(1))
    for _ in range(2):
        done = ForgetRequest(world.settings, WANTED).forget()
        assert (done["state"], done["proof"]["found"]) == ("done", 0)
    first, second = sorted(receipts(world), key=lambda each: each["found"]["events"], reverse=True)
    assert (first["found"]["events"], second["found"]["events"]) == (1, 0)
    assert WHO not in json.dumps([first, second])


def test_a_dataset_goes_by_any_of_its_names_and_its_neighbour_stays(tmp_path: Path) -> None:
    world = World(tmp_path)
    named = [("postgres://db:5432", "Shop.public.orders"), ("postgres://DB", "Shop.public.orders"), ("n", "orders")]
    made = [run_event(outputs=[{"namespace": space, "name": name}]) for space, name in named]
    made.append(run_event(inputs=[{"namespace": "postgres://db:5432", "name": "Shop.public.orders_old"}]))
    world.append(*(json.dumps(each).encode() for each in made))
    parse(world)
    wanted = NameTarget("postgres://db", "Shop.public.orders", default_rules().canonical)
    done = ForgetRequest(world.settings, wanted).forget()
    assert (done["found"]["events"], done["proof"]["found"]) == (2, 0)
    assert world.sequences("events") == [3, 4]
    rest = ForgetRequest(world.settings, NameTarget("postgres://db:5432", None, default_rules().canonical)).forget()
    assert rest["found"]["events"] == 1
    assert sorted(map(str, receipts(world))) == sorted(map(str, (done, rest))), (
        "the receipts have the same time, so their order is undefined"
    )
    assert world.sequences("events") == [3]


def test_what_killed_processes_left_half_written_goes_though_nothing_else_says_it(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.append(event(1))
    world.claim(event(2, ("x" * 5000,)))
    parse(world)
    torn = tmp_path / "claims" / ("0" * 32)
    torn.write_bytes(sql_event(WHO)[:-20])  # from a request that was never answered
    rows = next((tmp_path / "lake" / "bronze" / "events").glob("*/*.parquet"))
    for left in (
        rows.with_name(f"{rows.name}#1"),
        tmp_path / "lake" / "bronze" / "schemas" / "_delta_log" / "1.json#2",
    ):
        left.write_text(WHO)
    done = ForgetRequest(world.settings, WANTED).forget()
    assert (done["state"], said_in(tmp_path), torn.exists()) == ("done", [], False)
    assert len(list((tmp_path / "claims").iterdir())) == 1
    assert world.sequences("events") == [1, 2]


def test_files_of_rows_that_left_by_age_go_too(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.append(sql_event(WHO))
    world.age(40)
    old = world.append_to_end_of_segment(event(1))
    world.append(event(2))
    parse(world)
    delete_old_events(world.bronze, 30)
    remove_segment(old)  # as the log's retention would have done
    assert said_in(tmp_path)
    done = ForgetRequest(world.settings, WANTED).forget()
    assert (done["state"], set(done["found"].values()), said_in(tmp_path)) == ("done", {0}, [])
    assert world.sequences("events") == [2, 3]


def test_what_is_in_a_file_of_the_user_is_named_and_the_request_stays_open(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.append(sql_event(WHO))
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "tags.yaml").write_text(f"# of {WHO}\n")
    done = ForgetRequest(world.settings, WANTED).forget()
    assert (done["state"], done["proof"]["in"]) == ("begun", [str(tmp_path / "rules" / "tags.yaml")])
    (tmp_path / "rules" / "tags.yaml").unlink()
    assert ForgetRequest(world.settings, WANTED).forget() | {"state": "done"} == receipts(world)[0]


def test_a_log_on_another_disk_is_searched_too_and_the_log_of_administration_is_not(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "log").symlink_to(tmp_path / "other")
    world = World(tmp_path / "data")
    world.append(sql_event(WHO), event(1))
    record_admin(open_admin_log(*lake_root_and_options(world.settings)), Actor(WHO), "keys add", "of somebody")
    assert ForgetRequest(world.settings, WANTED).dry_run()["found"]["records of the log"] == 1
    done = ForgetRequest(world.settings, WANTED).forget()
    assert (done["state"], done["found"]["records of the log"], said_in(tmp_path / "other")) == ("done", 1, [])
    assert any("lake/admin" in left for left in done["left"])


def test_nothing_is_erased_while_headwater_runs(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.append(sql_event(WHO))
    with folder_lock(tmp_path, "serve", wait_s=0), pytest.raises(WrongSetting, match="serve"):
        ForgetRequest(world.settings, WANTED).forget()
    assert said_in(tmp_path)


def test_a_log_of_which_records_were_erased_can_be_parsed_again(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.append(event(1), sql_event(WHO))
    ForgetRequest(world.settings, WANTED).forget()
    begin_epoch(world.settings)
    parse(world)
    assert world.sequences("events") == [1]
    assert world.audit()["balanced"]
    assert said_in(tmp_path) == []
