"""A data folder of an older version works with this one: the log and bronze continue, and a new index is built."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from headwater.common.errors import LakeUnavailable, NotKnown
from headwater.events.times import iso_time
from headwater.index.home import IndexHome
from headwater.index.reading.run_history import RunHistory
from headwater.index.reading.view_opener import ViewOpener
from headwater.index.rules_files import RulesFiles
from headwater.index.stored.database import open_for_reading
from headwater.index.stored.older_file import create_current_views
from headwater.index.writing.follower import AT_ONCE, IndexFollower
from headwater.lake.bronze_retention import delete_old_events
from headwater.lineage.names.canonical_names import default_rules
from headwater.questions.run_lineage import RunContents, run_lineage
from tests.fixtures import RELEASED, unpack_before_verdicts, unpack_released
from tests.reference.small_events import CLEAR, HASHED, made, run, with_schema
from tests.reference.world_events import Json, source
from tests.support.data.parsing import World, event
from tests.support.data.samples import body
from tests.support.data.shop import BRONZE, MASKED, RAW, TARGET, Asker, up
from tests.support.questions import ask
from tests.support.waiting import rest

pytestmark = pytest.mark.slow  # uses lakes of older versions

OLD_INDEX = "5-ae39aa238de90f1e.sqlite"
RENAMED = "version: 1\nrules:\n- {id: one, why: both are one, namespace: 's3://lake', to_namespace: 's3://data'}\n"


@pytest.fixture
def before(tmp_path: Path) -> Path:
    return unpack_before_verdicts(tmp_path)


@pytest.fixture
def home(before: Path) -> IndexHome:
    return IndexHome(before / "index")


@pytest.fixture
def open_views(home: IndexHome, before: Path) -> Iterator[ViewOpener]:
    open_views = ViewOpener(home, RulesFiles(before / "rules"))
    yield open_views
    open_views.close()


def reached(open_views: ViewOpener, **more: str) -> set[str]:
    """Return the columns that the shop's e-mail addresses reach."""
    asked = {"dataset": "landing/customers", "column": "email", **more}
    return {f"{item['dataset']}.{item['column']}" for item in ask(open_views, "impact", asked)["columns"]}


def test_the_log_goes_on_where_the_parser_before_stopped(before: Path) -> None:
    world = World(before)
    old = world.audit()
    assert (old["pending"], old["balanced"]) == (1, True)
    assert world.parser().commit_next() == 1
    new = world.audit()
    assert (new["pending"], new["stored"], new["balanced"]) == (0, old["stored"] + 1, True)
    assert (new["received"], new["duplicates"], new["rejected"], new["refused"]) == (
        old["received"], old["duplicates"], old["rejected"], old["refused"]
    )  # fmt: skip


def test_the_old_index_answers_until_the_new_one_is_built_beside_it(
    before: Path, home: IndexHome, open_views: ViewOpener
) -> None:
    world, rules = World(before), default_rules()
    world.parser().commit_next()
    follower = IndexFollower(home, world.bronze)
    assert home.published_file().path.name == OLD_INDEX
    assert "gold/mailing.contact" in reached(open_views)
    assert not open_views.active_rules().is_indexed
    while follower.process_batches(rules):
        assert home.published_file().path.name == OLD_INDEX
        assert "gold/late.mail" not in reached(open_views)
    assert home.published_file().path == home.index_path(rules)
    assert {"gold/mailing.contact", "gold/late.mail"} <= reached(open_views)
    assert "gold/late.mail" in reached(open_views, asOf="2027-01-01T00:00:00Z")
    assert [file.name for file in (before / "index").glob("*.sqlite")] == [home.index_path(rules).name]
    follower.close()


def test_runs_of_an_old_index_go_by_their_keys_as_if_these_were_numbers(open_views: ViewOpener) -> None:
    to_bronze, to_silver, to_gold = (f"0195c000-0000-7000-8000-{number:012d}" for number in (1, 2, 3))
    found = open_views.query_current_index(
        lambda live, _: run_lineage(RunHistory(live), to_silver, RunContents({}, {}, [], []), [])
    )
    assert found.run.job.name == "to_silver"
    assert [each.written_by.id for each in found.reads if each.written_by] == [to_bronze]
    assert to_gold in {reader.id for each in found.writes for reader in each.read_by}


def test_an_old_index_that_cannot_be_read_takes_nothing_from_the_one_that_is_built(
    before: Path, home: IndexHome, open_views: ViewOpener
) -> None:
    world, rules = World(before), default_rules()
    world.append(*(event(f"{number:032x}") for number in range(AT_ONCE)))
    while world.parser().commit_next():
        pass
    follower = IndexFollower(home, world.bronze)
    assert follower.process_batches(rules)
    home.published_file().path.write_bytes(b"no database" * 1000)
    with pytest.raises(LakeUnavailable):
        reached(open_views)
    assert home.reported_damaged_path()
    assert 0 < follower.process_batches(rules) < AT_ONCE // 10, "the index continues where it was"
    assert follower.process_batches(rules) == 0
    assert "gold/late.mail" in reached(open_views)
    follower.close()


def test_other_rules_are_built_beside_those_in_force(before: Path, home: IndexHome, open_views: ViewOpener) -> None:
    follower = IndexFollower(home, World(before).bronze)
    while follower.process_batches(open_views.active_rules().rules.names):
        pass
    (before / "rules").mkdir()
    (before / "rules" / "names.yaml").write_text(RENAMED)
    while follower.process_batches(open_views.active_rules().rules.names):
        assert ask(open_views, "impact", {"dataset": "gold/mailing"})["column"]["namespace"] == "s3://lake"
    assert ask(open_views, "impact", {"dataset": "gold/mailing"})["column"]["namespace"] == "s3://data"
    follower.close()


def test_what_an_older_file_lacks_reads_as_its_default_and_is_not_written(tmp_path: Path) -> None:
    file = tmp_path / "old.sqlite"
    with closing(sqlite3.connect(file)) as old:
        old.executescript("CREATE TABLE kept(a, b TEXT); INSERT INTO kept VALUES (1, 'x'); CREATE TABLE gone(z);")
    content = file.read_bytes()
    today = "CREATE TABLE kept(b, new INTEGER NOT NULL DEFAULT 7, late TEXT, a); CREATE TABLE added(a, b);"
    with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as opened:
        create_current_views(opened, today)
        assert opened.execute("SELECT b, new, late, a, rowid FROM kept").fetchall() == [("x", 7, None, 1, 1)]
        assert opened.execute("SELECT a, b FROM added ORDER BY rowid").fetchall() == []
    assert file.read_bytes() == content


def test_renamed_tables_and_columns_of_an_older_file_have_their_current_names(tmp_path: Path) -> None:
    file = tmp_path / "old.sqlite"
    with closing(sqlite3.connect(file)) as old:
        old.executescript("CREATE TABLE votes(run, grp, landed); INSERT INTO votes VALUES (1, 2, 3);")
    current = "CREATE TABLE candidates(run, job_output, rows_confirmed, added INTEGER NOT NULL DEFAULT 7);"
    with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as opened:
        create_current_views(opened, current)
        assert opened.execute("SELECT run, job_output, rows_confirmed, added FROM candidates").fetchone() == (
            1,
            2,
            3,
            7,
        )


def test_a_file_of_these_rules_that_lacks_a_table_is_damaged(before: Path, home: IndexHome) -> None:
    follower = IndexFollower(home, World(before).bronze)
    while follower.process_batches(default_rules()):
        pass
    follower.close()
    with closing(sqlite3.connect(home.published_file().path)) as harmed:
        harmed.execute("DROP TABLE edges")
    with closing(open_for_reading(home.published_file().path)) as opened, pytest.raises(sqlite3.OperationalError):
        opened.execute("SELECT * FROM edges")


def test_headwater_started_on_the_old_folder_answers_from_its_first_moment_on(before: Path) -> None:
    with up(before) as running, Asker(running.url) as asker:
        statuses = set()
        while not asker.ask("rules")["indexed"]:
            statuses.add(asker.get("impact", dataset="landing/customers", column="email").status_code)
            rest()
        statuses.add(asker.get("impact", dataset="landing/customers", column="email").status_code)
        assert statuses == {200}
        asker.wait_for("impact", dataset="gold/late")
        assert asker.ask("audit")["balanced"]


# From release 0.2.0

SINCE = [
    run(300, 300, made(TARGET, {"phone": [source(BRONZE, "phone", CLEAR)]}), job="phones",
        reads=[with_schema(BRONZE, "id email phone")]),
    run(301, 310, made(MASKED, {"email": [source(RAW, "email", HASHED)]}), job="mask",
        reads=[with_schema(RAW, "email notes")]),
]  # fmt: skip
"""Reports of two of the shop's jobs after the upgrade. Neither copies an address in the clear any more."""


@pytest.fixture
def released(tmp_path: Path) -> World:
    return World(unpack_released(tmp_path))


@pytest.fixture
def answer(released: World) -> Iterator[ViewOpener]:
    open_views = ViewOpener(IndexHome(released.folder / "index"), RulesFiles(released.folder / "rules"))
    yield open_views
    open_views.close()


def parsed(world: World, events: list[Json]) -> World:
    world.append(*map(body, events))
    parser = world.parser()
    while parser.commit_next():
        pass
    return world


def answers(open_views: ViewOpener) -> list[object]:
    told = json.loads((RELEASED / "answers.json").read_text())
    return [ask(open_views, question, asked) for question, asked, _ in told]


def verdicts(open_views: ViewOpener, dataset: str, **more: str) -> dict[str, str]:
    items = ask(open_views, "unused", {"dataset": dataset, **more})["items"]
    return {item["column"]: item["verdict"] if item["verdict"] != "unknown" else item["reason"] for item in items}


def test_an_upgrade_of_the_release_answers_by_its_index_until_the_new_one_is_whole(
    released: World, answer: ViewOpener
) -> None:
    told = json.loads((RELEASED / "answers.json").read_text())
    used = {(each["dataset"], each["column"]) for each in told[-1][2]["items"] if each["verdict"] == "used"}
    before = answers(answer)
    assert {(each["dataset"], each["column"]) for each in ask(answer, "unused", {"verdict": "used"})["items"]} == used
    parsed(released, SINCE)
    home, rules = IndexHome(released.folder / "index"), default_rules()
    follower = IndexFollower(home, released.bronze)
    while follower.process_batches(rules):
        assert (answers(answer), answer.active_rules().is_indexed) == (before, False)
    follower.close()
    other = IndexHome(released.folder / "from scratch")
    follower = IndexFollower(other, released.bronze)
    while follower.process_batches(rules):
        pass
    follower.close()
    scratch = ViewOpener(other, RulesFiles(released.folder / "rules"))
    assert answers(answer) == answers(scratch) != before
    scratch.close()


def test_what_retention_removed_before_the_rebuild_is_unknown_and_not_unused(
    released: World, answer: ViewOpener
) -> None:
    assert verdicts(answer, "bronze/customers")["email"] == "used"
    delete_old_events(parsed(released, SINCE).bronze, 3)
    assert len(released.sequences("events")) == len(SINCE)
    assert verdicts(answer, "bronze/customers")["email"] == "used", "the older index contains the removed events"
    follower = IndexFollower(IndexHome(released.folder / "index"), released.bronze)
    while follower.process_batches(default_rules()):
        pass
    follower.close()
    before_us = released.bronze.removed_before_us()
    assert before_us is not None
    day = str(iso_time(before_us)).partition("T")[0]
    removed = f"events before {day} were removed"
    wanted = {"id": removed, "email": removed, "phone": "used"}
    assert verdicts(answer, "bronze/customers") == wanted
    assert verdicts(answer, "bronze/customers", asOf="2027-01-01T00:00:00Z") == wanted
    for question in ("impact", "upstream"):
        stops = ask(answer, question, {"dataset": "bronze/customers", "column": "email"})["stops"]
        assert [(each["reason"], each["events_removed_before"]) for each in stops] == [("events_removed", day)]
    surface = ask(answer, "surface", {"dataset": "lives/raw", "column": "email"})
    assert [(each["dataset"], each["exposure"]) for each in surface["items"]] == [("lives/masked", "unknown")]
    assert surface["events_removed_before"] == day
    with pytest.raises(NotKnown, match=f"Retention removed all events before {day}"):
        ask(answer, "impact", {"dataset": "landing/customers"})


def test_an_index_that_took_what_retention_removed_goes_on_proving_it(released: World, answer: ViewOpener) -> None:
    follower = IndexFollower(IndexHome(released.folder / "index"), parsed(released, SINCE).bronze)
    while follower.process_batches(default_rules()):
        pass
    before = answers(answer)
    delete_old_events(released.bronze, 3)
    while follower.process_batches(default_rules()):
        pass
    follower.close()
    follower = IndexFollower(IndexHome(released.folder / "index"), released.bronze)
    assert follower.process_batches(default_rules()) == 0
    follower.close()
    assert answers(answer) == before
