"""Extensions from other packages: the example package installed with a real Headwater, and broken extensions."""

import json
import os
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import chdir, closing
from pathlib import Path
from typing import Any

import pytest
from hatchling.build import build_wheel

from headwater.common.errors import WrongSetting
from headwater.common.registry import Registry
from headwater.sinks.interface.sinks_file import LocalSinksFile, SinksFile
from tests.support.data.made_events import run_event
from tests.support.data.shop import Asker
from tests.support.paths import ROOT
from tests.support.running import Running
from tests.support.servers.sink_target import eventually

ACME = '''
from pydantic import Field

from headwater.intake.event_log.sqlite_kind import SqliteKind, SqliteSettings
from headwater.questions.answer_types.common import AnswerStruct
from headwater.questions.declaring import question


class AcmeSettings(SqliteSettings):
    acme_note: str = Field("", description="A note.")


class AcmeLog(SqliteKind):
    name = "acme"
    settings = AcmeSettings


class Column(AnswerStruct):
    other: int


@question("impact")
def same_path(sources: object) -> Column:
    """Have a path of Headwater."""
    return Column(1)


@question("columns", called="up")
def same_schema(sources: object) -> Column:
    """Have a schema name of Headwater."""
    return Column(1)


def nothing() -> None: ...
'''


ORPHAN = {"total": 1, "items": [{"namespace": "tests", "dataset": "orphan"}]}


def install(folder: Path, name: str, module: str, **groups: dict[str, str]) -> None:
    """Write a module and the metadata of its package, as an installer does."""
    (folder / f"{name}.py").write_text(module)
    metadata = folder / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = (
        f"[headwater.{group}]\n" + "".join(f"{key} = {value}\n" for key, value in entries.items())
        for group, entries in groups.items()
    )
    (metadata / "entry_points.txt").write_text("\n".join(lines))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the example package and a package with broken extensions, except for its log."""
    folder = tmp_path_factory.mktemp("site")
    with chdir(ROOT / "examples" / "headwater_sqlite"):
        wheel = build_wheel(str(folder))
    with zipfile.ZipFile(folder / wheel) as package:
        package.extractall(folder)
    questions = {
        "same": "acme:same_path",
        "schema": "acme:same_schema",
        "none": "acme:nothing",
        "lost": "acme2:x",
    }
    sinks = {"file": "acme", "bare": "acme"}
    install(folder, "acme", ACME, event_logs={"acme": "acme:AcmeLog"}, questions=questions, sinks=sinks)
    return folder


@pytest.fixture(scope="module")
def environment(site: Path) -> dict[str, str]:
    return {"PYTHONPATH": os.pathsep.join([str(ROOT), str(site)]), "HEADWATER_LOG": "acme", "HEADWATER_ACME_NOTE": "hi"}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("up")
    data = folder / "data"
    data.mkdir(mode=0o700)
    sinks = {"local": {"type": "sqlite", "file": str(folder / "events.db")}, "other": {"type": "bare"}}
    (data / "sinks.yml").write_text(json.dumps({"version": 1, "sinks": sinks}))
    with Running(data, cwd=folder, environment=environment, options=["--tick", "50ms"]) as found:
        yield found


@pytest.mark.slow
def test_the_example_sink_gets_events_and_the_example_question_answers(
    running: Running, environment: dict[str, str]
) -> None:
    owned = {"namespace": "tests", "name": "owned", "facets": {"ownership": _ownership()}}
    event = run_event(outputs=[owned, {"namespace": "tests", "name": "orphan"}])
    with Asker(running.url) as asker:
        asker.post(event)
        assert asker.ask("without-owner") == ORPHAN
        assert "limit=x" not in asker.refused("without-owner", 400, limit="0")["fix"]
        assert asker.client.post("/api/headwater/v1/without-owner").status_code == 405
        asker.refused("without-owners", 404)
        document = asker.client.get("/openapi.json").json()
        assert document["paths"]["/api/headwater/v1/without-owner"]["get"]["tags"] == ["lineage"]
        settings = {each["setting"]: each["value"] for each in asker.ask("settings")["items"]}
        assert (settings["log"], settings["acme_note"]) == ("acme", "hi")
    file = running.folder.parent / "events.db"
    eventually(lambda: file.exists() and _rows(file))
    assert [(name, json.loads(body)["run"]) for name, body in _rows(file)] == [("job", event["run"])]


_COMMANDS = """
import sys
from contextlib import redirect_stdout
from io import StringIO
from typer.main import get_group
from headwater.cli import main
from headwater.cli.agents.mcp_server import AgentTools
from headwater.cli.base_app import check
from headwater.cli.app import app

with redirect_stdout(StringIO()):
    check()
print(*get_group(app).list_commands(None))
print(*(each.name for each in AgentTools(None).tools()), flush=True)
main(["without-owner", "--server", sys.argv[1], "--json"])
"""


@pytest.mark.slow
def test_commands_and_agents_have_installed_questions_and_broken_parts_are_named(
    running: Running, environment: dict[str, str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _COMMANDS, running.url],
        env={**os.environ, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    commands, tools, answer = done.stdout.splitlines()
    assert {"without-owner", "impact", "up"} < {*commands.split()}, done.stderr
    assert {"without-owner", "impact", "describe"} < {*tools.split()}
    assert json.loads(answer) == ORPHAN
    for problem in (
        "The question 'same' of the package acme 1.0 (acme:same_path) cannot be used: the path 'impact' belongs to",
        "The question 'schema' of the package acme 1.0 (acme:same_schema) cannot be used: a class of its answer has",
        "The question 'none' of the package acme 1.0 (acme:nothing) cannot be used: it is not a question.",
        "The question 'lost' of the package acme 1.0 (acme2:x) cannot be used: importing it failed with "
        "ModuleNotFoundError: No module named 'acme2'. Repair, update or uninstall the package.",
    ):
        assert problem in done.stderr
        assert problem in running.stderr
    file = (
        "The sink type 'file' of the package acme 1.0 (acme) cannot be used: the name 'file' is a built-in sink type."
    )
    assert file in done.stderr
    assert (
        "sinks.yml, line 1, sinks, other: this sink does not run. The sink type 'bare' of the package acme 1.0 (acme) "
        "cannot be used: it has no class `OPTIONS`"
    ) in running.stderr


def _ownership() -> dict[str, Any]:
    facet = "https://openlineage.io/spec/facets/1-0-1/OwnershipDatasetFacet.json"
    return {"_producer": facet, "_schemaURL": facet, "owners": [{"name": "team:sales"}]}


def _rows(file: Path) -> list[Any]:
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute("SELECT job_name, body FROM events").fetchall()


def as_text(name: str, found: Any) -> str:
    if not isinstance(found, str):
        raise ValueError(f"{name} is not a text. Make it one.")
    return found


def registry(group: str) -> Registry[str]:
    return Registry("text", group, {"own": "os:sep"}, as_text)


def test_a_broken_part_is_named_and_the_others_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = {"good": "one:GOOD", "own": "one:GOOD", "shared": "one:GOOD", "number": "one:NUMBER", "gone": "one:GONE"}
    install(tmp_path, "one", "GOOD, NUMBER = 'good', 1", texts=good)
    install(tmp_path, "two", "raise SystemExit('no licence')", texts={"shared": "two:X", "exits": "two:X"})
    monkeypatch.syspath_prepend(tmp_path)
    texts = registry("headwater.texts")
    assert (texts.get("own"), texts.get("good"), texts.get("unknown")) == (os.sep, "good", None)
    assert {*texts.names()} == {"own", "good", "number", "gone", "exits"}
    found = texts.installed()
    assert found.parts == {"good": "good"}
    named = {problem.split("'")[1]: problem for problem in found.problems}
    assert {*named} == {"own", "shared", "number", "gone", "exits"}
    assert named["own"].endswith("cannot be used: the name 'own' is a built-in text. Choose another name.")
    assert "the package one 1.0 (one:GOOD) and the package two 1.0 (two:X) use the same name" in named["shared"]
    assert named["number"].endswith("(one:NUMBER) cannot be used: number is not a text. Make it one.")
    assert "AttributeError: module 'one' has no attribute 'GONE'" in named["gone"]
    assert "importing it failed with SystemExit: no licence" in named["exits"]
    with pytest.raises(WrongSetting, match="number is not a text"):
        texts.get("number")
    assert texts.installed(lambda text: f"{text} is taken.").parts == {}


def test_built_in_parts_need_no_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: str) -> None:
        raise AssertionError("entry points were read")

    monkeypatch.setattr("importlib.metadata.entry_points", fail)
    assert registry("headwater.texts").load_built_in() == {"own": os.sep}


def test_a_sink_whose_type_is_broken_does_not_stop_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from headwater.sinks.interface import sinks_file, target_registry

    install(tmp_path, "acme_sinks", "OPTIONS = 1", sinks={"acme": "acme_sinks"})
    monkeypatch.syspath_prepend(tmp_path)
    targets = target_registry.TARGETS
    fresh = Registry("sink type", "headwater.sinks", targets.built_in, target_registry._check_module)
    monkeypatch.setattr(sinks_file, "TARGETS", fresh)
    (tmp_path / "sinks.yml").write_text(
        "version: 1\nsinks:\n  new:\n    type: acme\n  old: {type: file, folder: archive}\n"
    )
    file = SinksFile(LocalSinksFile(tmp_path / "sinks.yml"))
    assert [*file.current_sinks()] == ["old"]
    assert (file.problem or "").startswith(
        "sinks.yml, line 4, sinks, new: this sink does not run. The sink type 'acme' of"
    )
    (tmp_path / "sinks.yml").write_text("version: 1\nsinks: {new: {type: nothing}}")
    assert [*file.current_sinks()] == ["old"]
    assert "known types: openlineage, marquez" in (file.problem or "")
