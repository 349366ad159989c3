"""The process `index` answers like a newly built index after a kill, damage, deletion or changed rules."""

import json
import os
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from headwater.common.errors import LakeUnavailable
from headwater.operations.runtime.index import open_view_opener
from headwater.operations.runtime.storage import open_bronze
from headwater.operations.settings import load_settings
from tests.reference.small_events import CLEAR, made, run
from tests.reference.world_events import at, source, uuid
from tests.support.data.parsing import World
from tests.support.data.shop import DROPPED, EVENTS, LAKE, LAST, MAILING, Asker, bodies, told, up
from tests.support.questions import ask
from tests.support.running import Running, headwater
from tests.support.waiting import rest

pytestmark = pytest.mark.slow  # each test starts a server, and some kill it

MASK = "version: 1\nmasking:\n- masked: true\n  output: {dataset: gold/mailing}\n"
TAG = "version: 1\ntags:\n- {namespace: s3a://lake, dataset: landing/customers, column: phone, tag: secret}\n"
READER = "version: 1\nconsumers:\n- {consumer: BI, dataset: gold/mailing, namespace: s3://lake}\n"
RENAMED = """version: 1
rules:
- {id: one-lake, why: both are one, namespace: "s3://lake", to_namespace: "s3://data"}
"""


def answers(ask: Callable[..., Any]) -> list[Any]:
    """Ask a fixed set of questions."""
    questions: list[tuple[str, dict[str, str]]] = [
        ("coverage", {}), ("unused", {}), ("surface", {}), ("surface", {"since": at(50)}), ("diff", {"from": at(25)}),
        ("impact", {"dataset": "landing/customers", "mode": "any", "paths": "true"}),
        ("upstream", {"dataset": "gold/mailing", "view": "all"}), ("run", {"run": uuid(2)}),
    ]  # fmt: skip
    return [ask(name, **asked) for name, asked in questions]


def over_http(asker: Asker) -> list[Any]:
    """Return the answers of a running Headwater."""
    return answers(
        lambda name, **asked: asker.ask(f"runs/{asked.pop('run')}/lineage" if name == "run" else name, **asked)
    )


def afresh(data: Path) -> list[Any]:
    """Return the answers of the command line for a folder on which no Headwater runs."""
    settings = load_settings({"data": data}, folder=data, environment={})[0]
    open_views, bronze = open_view_opener(settings, data), open_bronze(settings)
    return answers(lambda name, **asked: ask(open_views, name, asked, bronze=bronze))


def eventually(asker: Asker, holds: Callable[[], bool]) -> None:
    """Wait until a condition is true. 60 s is longer than any rebuild in these tests."""
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, asker.get("rules").text
        rest()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture(scope="module")
def shop_of_rules(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, Asker]]:
    """Provide one Headwater for the tests that each change a rules file."""
    with up(tmp_path_factory.mktemp("rules") / "data") as running, Asker(running.url) as asker:
        asker.post(*EVENTS)
        (running.folder / "rules").mkdir()
        yield running, asker


@pytest.fixture
def shop(data: Path) -> Iterator[tuple[Running, Asker]]:
    with up(data) as running, Asker(running.url) as asker:
        yield running, asker


def test_killed_at_any_time_it_catches_up_and_equals_one_built_from_nothing(
    data: Path, shop: tuple[Running, Asker]
) -> None:
    running, asker = shop
    killed = 0
    for event in EVENTS:
        asker.client.post("/api/v1/lineage", json=event)
        killed = running.wait_pid("index", other_than=killed)
        os.kill(killed, signal.SIGKILL)
    asker.wait_for(f"runs/{LAST}/lineage")
    found = over_http(asker)
    running.stop()
    assert sum("index exited with status -9" in line for line in running.lines) == len(EVENTS)
    assert afresh(data) == found
    shutil.rmtree(data / "index")
    assert afresh(data) == found


@pytest.mark.parametrize(
    "harm", ["no database", "zeros behind the header", "a page in the middle", "no file", "no table"]
)
def test_an_index_harmed_while_nothing_runs_is_built_anew(data: Path, harm: str) -> None:
    world = World(data)
    world.append(*bodies(EVENTS))
    world.parser().commit_next()
    found = afresh(data)
    (file,) = (data / "index").glob("*.sqlite")
    content = file.read_bytes()
    match harm:
        case "no database":
            file.write_bytes(b"no database" * 1000)
        case "zeros behind the header":
            file.write_bytes(content[:100] + bytes(len(content) - 100))
        case "a page in the middle":
            pages = [at for at in range(4096, len(content), 4096) if content[at] == 13]  # leaf pages of tables
            file.write_bytes(b"".join(b"\xa5" * 4096 if at in pages else content[at : at + 4096]
                                      for at in range(0, len(content), 4096)))  # fmt: skip
        case "no file":
            file.unlink()
        case "no table":
            with closing(sqlite3.connect(file)) as connection:
                connection.execute("DROP TABLE edges")
    for _ in range(2):  # the first use reports the damage, the next one rebuilds the index
        with suppress(LakeUnavailable):
            afresh(data)
    assert afresh(data) == found


def test_a_file_damaged_while_it_runs_is_built_anew(data: Path, shop: tuple[Running, Asker]) -> None:
    running, asker = shop
    asker.post(*EVENTS)
    before = over_http(asker)
    (file,) = (data / "index").glob("*.sqlite")
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with file.open("r+b") as raw:
        raw.seek(4096)
        raw.write(b"\xa5" * (file.stat().st_size - 4096))
    asker.post(DROPPED)
    assert "found damage" in running.stderr
    assert over_http(asker) != before, "the answers must include the new event"
    assert asker.ask("rules")["indexed"]
    found = over_http(asker)
    running.stop()
    shutil.rmtree(data / "index")
    assert afresh(data) == found


def test_new_rules_for_names_are_in_force_without_a_restart(data: Path, shop: tuple[Running, Asker]) -> None:
    _, asker = shop
    asker.post(*EVENTS)
    (data / "rules").mkdir()
    (data / "rules" / "names.yaml").write_text(RENAMED)
    asker.wait_for("impact", namespace="s3://data", dataset="gold/mailing")
    eventually(asker, lambda: bool(asker.ask("rules")["indexed"]))
    assert asker.ask("impact", dataset="gold/mailing")["column"]["namespace"] == "s3://data"
    assert asker.ask("upstream", namespace=LAKE, dataset="gold/mailing")["column"]["namespace"] == "s3://data"
    eventually(
        asker, lambda: len(list((data / "index").glob("*.sqlite"))) == 1
    )  # the old index is deleted after the switch
    (data / "rules" / "names.yaml").unlink()
    eventually(asker, lambda: asker.ask("impact", dataset="gold/mailing")["column"]["namespace"] == LAKE)


def test_tags_masking_and_consumers_change_answers_at_once(data: Path, shop: tuple[Running, Asker]) -> None:
    _, asker = shop
    asker.post(*EVENTS)
    rules = data / "rules"
    rules.mkdir()
    asker.refused("surface", 404, tag="secret")
    (rules / "tags.yaml").write_text(TAG)
    assert told(asker.ask("surface", tag="SECRET"), "exposure")["gold/phones.phone"] == "exposed"
    assert told(asker.ask("surface"), "exposure")["gold/mailing.contact"] == "exposed"
    (rules / "masking.yaml").write_text(MASK)
    assert told(asker.ask("surface"), "exposure")["gold/mailing.contact"] == "masked"
    assert told(asker.ask("surface", asOf=at(99)), "exposure")["gold/mailing.contact"] == "masked"
    assert told(asker.ask("unused", dataset="gold/mailing"), "verdict") == {"gold/mailing.contact": "unknown"}
    (rules / "consumers.yaml").write_text(READER)
    (item,) = asker.ask("unused", dataset="gold/mailing")["items"]
    assert (item["verdict"], item["consumers"]) == ("used", ["BI"])


@pytest.mark.parametrize(
    ("file", "good", "holds"),
    [
        ("tags.yaml", TAG, lambda asker: asker.get("surface", tag="secret").is_success),
        ("masking.yaml", MASK, lambda asker: asker.ask("surface")["exposures"]["masked"] == 2),
        ("names.yaml", RENAMED, lambda asker: asker.get("impact", dataset="s3://data/gold/mailing").is_success),
    ],
)  # fmt: skip
def test_a_broken_file_leaves_its_last_good_rules_in_force_visibly(
    shop_of_rules: tuple[Running, Asker], file: str, good: str, holds: Callable[[Asker], bool]
) -> None:
    running, asker = shop_of_rules
    assert not holds(asker)
    rules = running.folder / "rules"
    (rules / file).write_text(good)
    eventually(asker, lambda: holds(asker))
    (rules / file).write_text(good + "- [")
    (problem,) = asker.ask("rules")["problems"]
    assert problem.startswith(f"{file}, line ")
    assert "last good rules stay in force" in problem
    assert holds(asker)
    eventually(asker, lambda: problem in running.stderr)
    shown = headwater("coverage", "--data", running.folder, "--json")
    assert f"headwater: {file}, line " in shown.stderr
    assert json.loads(shown.stdout)["items"]
    (rules / file).write_text(good)
    assert asker.ask("rules")["problems"] == []


def test_while_the_index_is_built_questions_wait_for_it(data: Path, shop: tuple[Running, Asker]) -> None:
    running, asker = shop
    more = [
        run(300 + n, 300 + n, made(MAILING, {"contact": [source((LAKE, f"in/{n}"), "x", CLEAR)]})) for n in range(50)
    ]
    asker.post(*EVENTS, *more)
    found = over_http(asker)
    running.stop()
    shutil.rmtree(data / "index")
    with up(data) as again, Asker(again.url) as asker:
        while (answer := asker.get("coverage")).status_code != 200:
            assert answer.status_code == 503
            assert "still being built" in answer.json()["error"]
            rest()
        assert over_http(asker) == found, "the first answer must be complete"
