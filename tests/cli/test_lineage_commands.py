"""The commands that ask about lineage: tables, JSON and statuses, on a stopped folder and with a running server."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from headwater.cli import main
from tests.reference.small_events import CLEAR, HASHED, made, run
from tests.reference.world_events import at, dataset, facet, schema, source, uuid
from tests.support.data.parsing import World
from tests.support.data.shop import (
    ALIAS,
    COMMANDS,
    DROPPED,
    EMAIL,
    ENDS,
    EVENTS,
    LAKE,
    LAST,
    MAILING,
    ONCE_CLEAR,
    REMADE,
    SHOWN,
    SILVER,
    Asker,
    bodies,
    columns,
    up,
)
from tests.support.paths import EVENTS as SAMPLES
from tests.support.paths import ROOT
from tests.support.running import headwater


class Outcome(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Command = Callable[..., Outcome]

UNREAD_SQL = run(
    95, 3, dataset((LAKE, "odd/out"), schema=schema(["x"])), reads=[dataset((LAKE, "odd/in"), schema=schema("ab"))],
    job="odd", job_facets={"sql": facet(query="CALL refresh('odd/out')", dialect="spark")},
)  # fmt: skip


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a data folder with the shop's events, on which no process runs."""
    world = World(tmp_path_factory.mktemp("cli") / "data")
    world.append(*bodies([*EVENTS, UNREAD_SQL]))
    world.parser().commit_next()
    return world.folder


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run a command in this process."""
    monkeypatch.chdir(tmp_path)

    def run_it(*arguments: str | Path) -> Outcome:
        with pytest.raises(SystemExit) as ended:
            main([str(each) for each in arguments])
        return Outcome(int(ended.value.code or 0), *capsys.readouterr())

    return run_it


@pytest.mark.parametrize(
    ("arguments", "status", "shown", "keys"),
    [
        (("impact", *EMAIL), 0, ("Impact of landing/customers#Email: 5 of 5, all in s3://lake", "to_gold", "masks"),
         {"column", "mode", "columns", "stops", "truncated", "owners"}),
        (("impact", *EMAIL, "--limit", "1"), 0, ("truncated: raise --limit or --depth",), {"truncated"}),
        (("impact", *EMAIL, "--paths", "--depth", "2", "--mode", "any"), 0, ("bronze/customers",), {"columns"}),
        (("impact", "silver/customers"), 0, ("From here on, only table lineage is known: 1 of 1",), {"stops"}),
        (("upstream", "gold/mailing", "--roots"), 0, ("1 of 1", "landing/customers"), {"columns"}),
        (("upstream", ALIAS[1], "--namespace", ALIAS[0], "--as-of", at(15)), 0, ("silver/customers",), {"columns"}),
        (("upstream", "silver/customers", "email_key"), 0, ("masked on the path", "bronze/customers"), {"columns"}),
        (("path", *ENDS), 0, ("Path: 3 of 3",), {"reaches", "path", "stops"}),
        (("path", *reversed(ENDS)), 1, ("No path by column lineage: 0 of 0",), {"reaches", "path", "stops"}),
        (("edge", "silver/customers#email", ENDS[1]), 0, ("to_gold", "INSERT INTO gold.mailing"), {"from", "items"}),
        (("surface",), 0, ("5 exposed, 4 unknown, 1 masked: 10 of 10", "email_key"), {"items", "totalCount"}),
        (("surface", *EMAIL, "--tag", "none"), 0, ("9 of 9",), {"items"}),
        (("surface", "--since", at(50)), 1, (f"Newly exposed since {at(50)}: 1 of 1", "gold/phones"), {"items"}),
        (("surface", "--since", at(100)), 0, ("0 of 0",), {"items"}),
        (("unused", "landing/customers"), 0, ("4 used, 1 unused, 0 unknown: 5 of 5", "notes"), {"items", "verdicts"}),
        (("unused", "--limit", "2"), 0, ("2 of",), {"items"}),
        (("health",), 0, ("No dataset or job has failed or is late or stale.",), {"items", "statuses"}),
        (("coverage",), 0, ("datasets.column lineage", "jobs.column lineage", "export/dump"), {"datasets", "items"}),
        (("diff", "--from", at(75), "--to", at(150)), 0, ("2 added, 0 removed, 0 changed: 2 of 2", "masks"),
         {"added"}),
        (("diff", "--from", at(150), "--to", at(75)), 1, ("0 added, 2 removed",), {"removed", "items"}),
        (("changes", "--from", at(75), "--to", at(150)), 0, ("1 dataset, 1 job: 2 of 2", "gold/phones"), {"from"}),
        (("changes", "--from", "last_green:to_gold"), 0, (f"Since {at(20)}", "gold/phones"), {"from", "items"}),
        (("run", uuid(2)), 0, ("to_silver", "COMPLETE", "bronze/customers"), {"run", "reads", "writes"}),
        (("facets", "job", "sql"), 0, ("to_gold",), {"items", "totalCount", "truncated"}),
        (("names", *ALIAS, "--at", at(500)), 0, ("binding", "silver/customers"), {"canonical", "items", "problems"}),
    ],
)  # fmt: skip
def test_every_command_as_a_table_and_as_json(
    command: Command, data: Path, *, arguments: tuple[str, ...], status: int, shown: tuple[str, ...], keys: set[str]
) -> None:
    table = command(*arguments, "--data", data)
    assert (table.status, table.err) == (status, "")
    flat = " ".join(table.out.split())
    assert all(text in flat for text in shown), table.out
    machine = command(*arguments, "--data", data, "--json")
    assert machine.status == status
    assert keys <= set(machine.json)
    assert machine.out.count("\n") == 1


@pytest.mark.slow
def test_answers_are_the_same_text_whatever_the_hash_seed(data: Path, tmp_path: Path) -> None:
    script = tmp_path / "ask.py"
    script.write_text(
        "from contextlib import suppress\nfrom headwater.cli import main\n"
        f"for arguments in {COMMANDS}:\n    with suppress(SystemExit):\n"
        f"        main([*arguments, '--data', {str(data)!r}, '--json'])\n"
    )
    first, second = (
        subprocess.run([sys.executable, script], capture_output=True, text=True, check=True, env=os.environ | {
            "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)
        }).stdout.splitlines() for seed in ("1", "2")
    )  # fmt: skip
    assert len(first) == len(COMMANDS)
    assert second == first


@pytest.mark.slow
def test_tables_show_clear_values_from_before_readers_from_before_and_mere_showing(
    command: Command, tmp_path: Path
) -> None:
    world = World(tmp_path / "data")
    world.append(*bodies([*ONCE_CLEAR, *REMADE, SHOWN]))
    world.parser().commit_next()

    def told(*arguments: str) -> str:
        return " ".join(command(*arguments, "--data", world.folder).out.split())

    once = told("surface", "lives/raw", "email", "--exposure", "once_exposed")
    assert "2 exposed, 0 unknown, 1 masked: 1 of 1" in once
    assert "in the clear until" in once
    assert at(0)[:19] in once
    assert "read before re-creation" in told("impact", "lives/table", "x")
    assert "read before re-creation" in told("unused", "lives/table")
    shown = told("unused", "lives/raw")
    assert "1 used, 1 unused, 0 unknown" in shown
    assert "Before you drop unused columns" in shown
    assert f"notebook at {at(50)[:19]}" in shown
    strict = told("unused", "lives/raw", "--strict")
    assert "1 used, 0 unused, 1 unknown" in strict
    assert "a job read this dataset to show it" in strict


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("impact", "silver/custmers"), ("No dataset", "Nearest: 's3://lake/silver/customers'")),
        (("impact", "silver/customers", "e_mail"), ("No column", "'email'")),
        (("impact", "mailing"), ("matches 2 datasets", "Add the namespace")),
        (("impact", "gold/mailing", "--depth", "0"), ("depth=0", "between 1 and 1000")),
        (("impact", "gold/mailing", "--as-of", "now"), ("asOf='now'", "2026-03-01T12:00:00Z")),
        (("path", "nowhere#a", "gold/mailing"), ("No dataset 'nowhere'",)),
        (("edge", *reversed(ENDS)), ("No edge",)),
        (("surface", "--tag", "pi"), ("No tag 'pi'", "'PII'")),
        (("surface", "--since", "soon"), ("since='soon'",)),
        (("unused", "x\n\u202e[/]"), ("No dataset", "\\n\\u202e")),
        (("run", "nobody"), ("No run 'nobody'", "headwater events")),
        (("diff",), ("--from TIME",)),
        (("diff", "before.ndjson"), ("two files",)),
        (("diff", "before.ndjson", "after.ndjson"), ("before.ndjson",)),
        (("facets", "table", "sql"), ("run, job or dataset",)),
        (("names", *ALIAS, "--at", "soon"), ("at='soon'",)),
    ],
)  # fmt: skip
def test_what_cannot_be_answered_is_one_line_and_status_3(
    command: Command, data: Path, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    outcome = command(*arguments, "--data", data)
    assert (outcome.status, outcome.out, outcome.err.count("\n")) == (3, "", 1)
    assert all(word in outcome.err for word in words), outcome.err


@pytest.mark.parametrize("arguments", [("impact", *EMAIL), ("run", LAST), ("coverage",), ("facets", "job", "sql")])
def test_without_data_it_says_so(command: Command, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    outcome = command(*arguments, "--data", tmp_path / "nowhere")
    assert (outcome.status, "has no Headwater data" in outcome.err) == (3, True)


def test_odd_names_neither_style_nor_move_the_terminal(command: Command, tmp_path: Path) -> None:
    odd = ("s3://b", "\x1b[31m[/bold]\u202eabc\r")
    world = World(tmp_path / "data")
    world.append(*bodies([run(1, 0, made(odd, {"[b]x": [source(("s3://b", "in"), "x", CLEAR)]}))]))
    world.parser().commit_next()
    shown = command("impact", "s3://b/in", "--data", world.folder).out
    assert not {"\x1b", "\u202e", "\r"} & set(shown)
    assert "\\x1b[31m[/bold]\\u202eabc" in shown
    assert "[b]x" in shown


@pytest.fixture
def dropped(tmp_path: Path) -> Path:
    """A data folder with one event, on which nothing runs."""
    world = World(tmp_path / "data")
    world.append(*bodies([DROPPED]))
    world.parser().commit_next()
    return world.folder


def test_without_any_tag_the_message_names_the_tags_file_in_use(
    command: Command, dropped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = tmp_path / "own rules"
    rules.mkdir()
    for file in (dropped / "rules" / "tags.yaml", rules / "tags.yaml"):
        told = command("surface", "--tag", "pii", "--data", dropped)
        assert told.status == 3
        assert f"Tags come from `tags` facets and from the file {file}." in told.err
        monkeypatch.setenv("HEADWATER_RULES", str(rules))


@pytest.mark.slow
def test_a_fault_is_one_line_with_a_reference_and_the_file_of_its_traceback(
    command: Command, dropped: Path, tmp_path: Path
) -> None:
    """A missing column in the index is a bug: neither damage nor a user's mistake."""
    assert command("runs", "--data", dropped).status == 0
    [index] = (dropped / "index").glob("*.sqlite")
    with sqlite3.connect(index) as connection:
        connection.execute("ALTER TABLE runs RENAME COLUMN state TO gone")
    for form in ([], ["--json"]):
        told = headwater("runs", "--data", dropped, *form, environment={"TMPDIR": str(tmp_path)})
        [file] = tmp_path.glob("headwater-fault-*.txt")
        reference = file.stem.removeprefix("headwater-fault-")
        assert (told.returncode, told.stdout, told.stderr.count("\n")) == (1, "", 1)
        text = " ".join(json.loads(told.stderr)[part] for part in ("error", "fix")) if form else told.stderr
        assert f"because of a bug in Headwater, reference {reference}." in text
        assert f"Report the bug with its traceback, which is in {file}." in text
        assert "Traceback" not in told.stderr
        assert "no such column" in file.read_text()
        assert file.stat().st_mode & 0o077 == 0, "only the owner may read the file"
        file.unlink()


@pytest.mark.slow
def test_beside_a_running_server_the_answers_are_its_own(command: Command, tmp_path: Path) -> None:
    with up(tmp_path / "data") as running, Asker(running.url) as asker:
        asker.post(*EVENTS)
        found = command("impact", *EMAIL, "--data", running.folder, "--json")
        assert found.json == asker.ask("impact", dataset=EMAIL[0], column=EMAIL[1])
        assert command("surface", "--data", running.folder, "--json").json == asker.ask("surface")
        (running.folder / "rules").mkdir()
        (running.folder / "rules" / "tags.yaml").write_text("version: 1\ntags: 7\n")
        told_so = command("surface", "--data", running.folder, "--json")
        assert told_so.err.startswith("headwater: tags.yaml, line 2")
        asker.post(DROPPED)
        later = command("impact", *EMAIL, "--data", running.folder, "--json")
        assert "gold/mailing.contact" not in columns(later.json)
    at_rest = headwater("impact", *EMAIL, "--data", running.folder, "--json")
    assert json.loads(at_rest.stdout) == later.json


def test_a_name_means_what_it_was_bound_to_then(command: Command, data: Path) -> None:
    found = command("names", "hive://META:9083", ALIAS[1], "--data", data, "--json").json
    assert [item["rule"] for item in found["items"]] == ["as-sent", "uri-form", "hive", "binding"]
    assert found["canonical"] == {"namespace": SILVER[0], "name": SILVER[1]}


# Comparing two files of events


@pytest.fixture
def files(tmp_path: Path) -> Callable[[list[Any], list[Any]], tuple[Path, Path]]:
    def write(*contents: list[Any]) -> tuple[Path, Path]:
        for name, events in zip(("before", "after"), contents, strict=True):
            (tmp_path / f"{name}.ndjson").write_bytes(b"\n".join(bodies(events)))
        return tmp_path / "before.ndjson", tmp_path / "after.ndjson"

    return write


def mailing(*steps: Any, **more: Any) -> Any:
    """Return a run that writes mailings, with column lineage if there are steps."""
    fields = {"contact": [source(SILVER, "email", *steps)]} if steps else {}
    return run(1, more.pop("second", 0), made(MAILING, fields, columns="contact"), reads=[made(SILVER, {})], **more)


@pytest.mark.parametrize(
    ("before", "after", "status", "counts"),
    [
        (mailing(CLEAR), mailing(CLEAR, second=9), 0, (0, 0, 0)),
        (mailing(CLEAR), mailing(HASHED), 0, (0, 0, 1)),
        (mailing(CLEAR), mailing({**CLEAR, "type": "INDIRECT"}), 1, (1, 1, 0)),
        (mailing(), mailing(CLEAR), 0, (1, 0, 0)),
        (mailing(CLEAR), mailing(), 1, (1, 1, 0)),
        (mailing(CLEAR), mailing(CLEAR, kind="FAIL"), 1, (0, 1, 0)),
    ],
)
def test_two_files_differ_and_lost_lineage_is_status_1(
    command: Command, files: Any, *, before: Any, after: Any, status: int, counts: tuple[int, int, int]
) -> None:
    outcome = command("diff", *files([before], [after]), "--json")
    found = outcome.json
    assert (outcome.status, found["added"], found["removed"], found["changed"]) == (status, *counts)
    assert found["totalCount"] == sum(counts)


def test_the_recorded_files_of_events_are_compared(command: Command) -> None:
    simple, complete = (SAMPLES / f"compat-spark-dataproc-{name}.ndjson" for name in ("simple", "complete"))
    assert command("diff", simple, simple).status == 0
    lost = command("diff", simple, complete, "--json")
    assert (lost.status, lost.json["removed"], lost.json["added"]) == (1, 2, 0)
    assert {(item["from"]["column"], item["to"]["column"]) for item in lost.json["items"]} == {("a", "a"), ("b", "b")}
    assert command("diff", complete, simple, "--limit", "1", "--json").json["truncated"]


def test_a_file_that_holds_no_event_names_the_line(command: Command, files: Any, tmp_path: Path) -> None:
    before, _ = files([mailing(CLEAR)], [])
    (tmp_path / "after.ndjson").write_text(before.read_text() + "\n{}\n")
    outcome = command("diff", before, tmp_path / "after.ndjson")
    assert (outcome.status, "after.ndjson, line 2 is not a valid event" in outcome.err) == (3, True)


def test_the_reason_why_sql_is_not_read_is_shown(command: Command, data: Path) -> None:
    reason = "the SQL contains a statement that Headwater does not support: CALL"
    for arguments in (("coverage",), ("unused", "odd/in"), ("run", uuid(95))):
        assert reason in command(*arguments, "--data", data, "--csv").out
    coverage = command("coverage", "--data", data, "--json").json["items"]
    assert {each.get("dataset") or each["name"]: each["unread"] for each in coverage if each["unread"]} == {
        "odd/out": [reason],
        "odd": [reason],
    }
    [readers] = command("unused", "odd/in", "--data", data, "--json").json["readers"]
    assert readers["unread"] == [{"job": {"namespace": "jobs", "name": "odd"}, "reason": reason}]
    [written] = command("run", uuid(95), "--data", data, "--json").json["writes"]
    assert (written["dataset"], written["unread"]) == ("odd/out", reason)
