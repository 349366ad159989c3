"""Cut the power before every file change of maintenance, retention, snapshots and `forget`.

No event may be lost or stored twice, forgotten data must be gone, and incomplete files must not remain.
"""

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from deltalake import DeltaTable

from headwater.intake.event_log import RecordKind
from headwater.lake.admin_log import open_admin_log
from headwater.lake.bronze_retention import delete_old_events, remove_unreferenced
from headwater.lake.maintenance import compact_tables, vacuum_tables
from headwater.lake.object_store import ObjectStore
from headwater.operations.erasure.request import ForgetRequest
from headwater.operations.runtime.index import open_view_opener
from headwater.operations.runtime.storage import lake_root_and_options
from tests.operations.test_erasure import WANTED, WHO, parse, planted, said_in
from tests.support.data.maintained import age_removals
from tests.support.data.parsing import World, event, note
from tests.support.faults.power_cut import cuts
from tests.support.few_of_many import few_of
from tests.support.lake_check import rows

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

_NEVER = 400
"""More calls than any of these programs makes, which is about 180."""
_PARTS = 20
PLACES = few_of([(30, _NEVER), *(range(first, _NEVER, _PARTS) for first in range(1, _PARTS + 1))], 1)
"""`make test` cuts each program once, before a data file is renamed. `make torture` cuts before every call."""


MAINTAIN = """
import sys
from pathlib import Path
from tests.support.data.parsing import World
from headwater.lake.maintenance import compact_tables, vacuum_tables
world = World(Path(sys.argv[1]))
world.parser().commit_next()
compact_tables(world.bronze)
vacuum_tables(world.bronze, 24)
"""
LET_GO = """
import sys
from pathlib import Path
from tests.support.data.parsing import World
from headwater.lake.bronze_retention import delete_old_events, remove_unreferenced
world = World(Path(sys.argv[1]))
delete_old_events(world.bronze, 30)
remove_unreferenced(world.bronze, [world.reader().source])
"""


def batch(world: World, number: int) -> None:
    """Append rows for each table of bronze: an event, a duplicate, an invalid record and a refusal."""
    world.append(event(number, (f"c{number}",)), event(number, (f"c{number}",)), b"{}")
    world.append(note(), kind=RecordKind.REFUSAL)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide a lake of many small commits, some of them compacted earlier, and a batch that is not parsed."""
    folder = tmp_path_factory.mktemp("kept")
    for number in range(8):
        world = World(folder)
        batch(world, number)
        if number < 7:
            parse(world)
        if number == 3:
            compact_tables(world.bronze)
            for table in world.bronze.tables.values():
                age_removals(ObjectStore(table.uri, {}), hours=48)
    return folder


@pytest.mark.parametrize("places", PLACES)
def test_amid_a_batch_compaction_and_vacuum(kept: Path, tmp_path: Path, places: Sequence[int]) -> None:
    for folder, call in cuts(kept, tmp_path, places, "-c", MAINTAIN, "FOLDER"):
        world = World(folder)
        world.append(event(9), event(1, ("c1",)))
        parse(world)
        assert world.placed() == list(range(1, 35)), call
        assert world.audit() | {"pending": 0, "balanced": True} == world.audit(), call
        compact_tables(world.bronze)
        assert_nothing_is_left_a_day_later(world, call)
        assert world.placed() == list(range(1, 35)), call


def assert_nothing_is_left_a_day_later(world: World, call: str) -> None:
    for table in world.bronze.tables.values():
        age_removals(ObjectStore(table.uri, {}), hours=48)
        for path in files(Path(table.uri)):
            os.utime(path, (1, 1))
    later = World(world.folder)
    vacuum_tables(later.bronze, 24)
    for table in later.bronze.tables.values():
        used = {path.rpartition("/")[2] for path in DeltaTable(table.uri).file_uris()}
        there = {path.name for path in files(Path(table.uri)) if "_delta_log" not in path.parts or "#" in path.name}
        assert there == used, (table.table.name, call)


def files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide a lake with events from forty days ago and from today, which share a schema."""
    folder = tmp_path_factory.mktemp("old")
    world = World(folder)
    batch(world, 1)
    batch(world, 2)
    world.age(40)
    parse(world)
    batch(world, 3)
    world.append(event(4, ("c2",)))
    parse(world)
    return folder


@pytest.mark.parametrize("places", PLACES)
def test_amid_retention_by_age(old: Path, tmp_path: Path, places: Sequence[int]) -> None:
    for folder, call in cuts(old, tmp_path, places, "-c", LET_GO, "FOLDER"):
        world = World(folder)
        world.append(event(5, ("c1",)))
        parse(world)
        delete_old_events(world.bronze, 30)
        remove_unreferenced(world.bronze, [world.reader().source])
        audit = world.audit()
        assert audit | {"stored": 3, "removed": 2, "balanced": True} == audit, call
        told = {row["schema_hash"] for row in rows(folder, "schemas")}
        named = {out["schema_hash"] for row in rows(folder, "events") for out in row["outputs"]}
        assert told == named, call
        shapes = {row["shape"] for row in rows(folder, "shapes")}
        assert {row["shape"] for row in rows(folder, "events")} == shapes, call


@pytest.fixture(scope="module")
def of_anna(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("anna")
    planted(folder)
    return folder


@pytest.mark.parametrize("places", PLACES)
def test_amid_forget(of_anna: Path, tmp_path: Path, places: Sequence[int]) -> None:
    ask = ("-m", "headwater", "forget", "--text", WHO, "--data", "FOLDER")
    for folder, call in cuts(of_anna, tmp_path, places, *ask):
        world = World(folder)
        assert world.audit() | {"pending": 0, "balanced": True} == world.audit(), call
        world.append(event(77))
        parse(world)
        compact_tables(world.bronze)
        open_view_opener(world.settings, folder).close()  # as if Headwater had run in between
        done = ForgetRequest(World(folder).settings, WANTED).forget()
        assert (done["state"], done["proof"]["found"], said_in(folder)) == ("done", 0, []), call
        assert [str(path) for path in files(folder) if "#" in path.name] == [], call
        world = World(folder)
        assert world.sequences("events") == [1, 3, 8], call
        assert world.audit() | {"stored": 3, "removed": 3, "rejected": 1, "balanced": True} == world.audit(), call
        acts = (
            open_admin_log(*lake_root_and_options(world.settings))
            .run_query("SELECT subject FROM t")
            .column("subject")
            .to_pylist()
        )
        receipts = [json.loads(path.read_text()) for path in (folder / "lake" / "forgotten").glob("*.json")]
        assert {(each["id"], each["state"]) for each in receipts} == {(act, "done") for act in acts}, call
