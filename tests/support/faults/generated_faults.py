"""Generate faults for a small lake, index or log, and collect the answers to compare with those of undamaged data."""

import asyncio
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from headwater.common.errors import HeadwaterError
from headwater.index.home import IndexHome
from headwater.index.reading.view_opener import ViewOpener
from headwater.index.rules_files import RulesFiles
from headwater.index.writing.follower import IndexFollower
from headwater.intake.event_log import Record, RecordKind
from headwater.intake.event_log.sqlite_reader import SqliteLogReader
from headwater.lake.maintenance import check_files
from headwater.lineage.names.canonical_names import default_rules
from headwater.operations.runtime.event_log import open_log
from headwater.operations.runtime.storage import open_claims
from tests.reference.world_events import at, uuid
from tests.support.data.parsing import World
from tests.support.data.shop import DROPPED, EVENTS, bodies
from tests.support.questions import ask

SEED = 20261127
QUESTIONS: list[tuple[str, dict[str, str]]] = [
    ("coverage", {}), ("unused", {}), ("surface", {}), ("datasets", {}), ("listed_runs", {}), ("diff", {"from": at(9)}),
    ("impact", {"dataset": "landing/customers", "mode": "any", "paths": "true"}), ("run", {"run": uuid(2)}),
    ("upstream", {"dataset": "gold/mailing", "view": "all"}),
]  # fmt: skip
PLACES = ("entry", "checkpoint", "footer", "page")


class Flip(NamedTuple):
    """A fault: one byte of a file is XORed with `mask`.

    place: the kind of file. seed: chooses the file and the byte.
    """

    place: str
    seed: int
    mask: int


def flips(places: Sequence[str], count: int) -> list[Flip]:
    """Return generated flips, which cycle through the places."""
    rng = random.Random(SEED)
    return [Flip(places[each % len(places)], rng.randrange(1 << 30), 1 << rng.randrange(8)) for each in range(count)]


def lake_in(folder: Path) -> None:
    """Write a lake in three batches. The checkpoints contain the first batch."""
    world = World(folder)
    half = len(EVENTS) // 2
    world.append(*bodies(EVENTS[:half]))
    world.parser().commit_next()
    for table in world.bronze.tables.values():
        table.reopen().create_checkpoint()
    for batch in (EVENTS[half:], [DROPPED]):
        world.append(*bodies(batch))
        world.parser().commit_next()
    check_files(world.bronze, 1 << 30)  # the parser process does the same when it starts


def harm(folder: Path, flip: Flip) -> Path:
    """Flip a byte of one file of the lake. Returns the file."""
    rng = random.Random(flip.seed)
    bronze = folder / "lake" / "bronze"
    patterns = {"entry": "*/_delta_log/*.json", "checkpoint": "*/_delta_log/*.parquet"}
    found = bronze.glob(patterns.get(flip.place, "*/**/part-*.parquet"))
    files = sorted(found, key=lambda each: (each.relative_to(bronze).parts[0], each.stat().st_mtime_ns))
    file = rng.choice(files)
    content = bytearray(file.read_bytes())
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little") if file.suffix == ".parquet" else len(content)
    at_byte = rng.randrange(footer, len(content)) if flip.place == "footer" else rng.randrange(footer)
    content[at_byte] ^= flip.mask
    file.write_bytes(content)
    return file


def answers(folder: Path) -> Iterator[tuple[str, Any]]:
    """Yield the answer of the lake to each question, from a new index, or the error that it raises."""
    world = World(folder)
    home = IndexHome(folder / "fresh")
    rules = RulesFiles(folder / "rules")
    yield "audit", _said(world.audit)
    for name in world.bronze.tables:
        yield f"rows of {name}", _said(partial(_rows, world, name))

    def follow() -> None:
        with closing(IndexFollower(home, world.bronze)) as follower:
            while follower.process_batches(default_rules()):
                pass

    if (refusal := _said(follow)) is not None:
        yield "index", refusal
        return
    yield "index", None
    with closing(ViewOpener(home, rules)) as views:
        for name, given in QUESTIONS:
            yield name, _said(partial(ask, views, name, given, bronze=world.bronze))


def _rows(world: World, name: str) -> list[str]:
    return sorted(map(repr, world.bronze.tables[name].run_query("SELECT * FROM t").to_pylist()))


def _said(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except HeadwaterError as error:
        return error


INDEX_PLACES = ("page", "-wal")


def index_in(folder: Path) -> list[dict[str, Any]]:
    """Write a lake and its index as a killed process leaves them: the last commits are only in the `-wal` file.

    Returns the answers of the index after each of its commits.
    """
    world, home = World(folder), IndexHome(folder / "index")
    states: list[dict[str, Any]] = []
    kept = folder.with_name("while-open")
    with closing(IndexFollower(home, world.bronze)) as follower:
        for batch in (EVENTS, [DROPPED]):
            world.append(*bodies(batch))
            world.parser().commit_next()
            if states:
                follower.close()  # closing moves the earlier commits from the `-wal` file into the index file
            while follower.process_batches(default_rules()):
                pass
            states.append(indexed_answers(folder))
        shutil.copytree(folder / "index", kept, ignore=shutil.ignore_patterns("*-shm"))
    shutil.rmtree(folder / "index")
    kept.rename(folder / "index")
    return states


def indexed_answers(folder: Path) -> dict[str, Any]:
    """Return the answer of the index to each question, or the error that it raises."""
    bronze, home = World(folder).bronze, IndexHome(folder / "index")
    with closing(ViewOpener(home, RulesFiles(folder / "rules"))) as views:
        return {name: _said(partial(ask, views, name, given, bronze=bronze)) for name, given in QUESTIONS}


def followed(folder: Path) -> list[str]:
    """Bring the index of a lake up to date. Returns the messages of the errors raised meanwhile."""
    named: list[str] = []
    with closing(IndexFollower(IndexHome(folder / "index"), World(folder).bronze)) as follower:
        while True:
            try:
                if not follower.process_batches(default_rules()):
                    return named
            except HeadwaterError as error:
                named.append(str(error))


def harm_index(folder: Path, flip: Flip) -> Path:
    """Flip a byte of the index file or of its `-wal` file. Returns the file."""
    file = next((folder / "index").glob("*-wal" if flip.place == "-wal" else "*.sqlite"))
    _flip(file, flip, random.Random(flip.seed))
    return file


def _flip(file: Path, flip: Flip, rng: random.Random) -> None:
    content = bytearray(file.read_bytes())
    held = [at_byte for at_byte, value in enumerate(content) if value]  # most bytes of a page are zero
    content[rng.choice(held)] ^= flip.mask
    file.write_bytes(content)


LOG_PLACES = ("segment", "-wal")


def log_in(folder: Path) -> None:
    """Write a log as a killed process leaves it: the last events are only in a `-wal` file, and none are parsed."""
    world = World(folder)
    early, late = bodies(EVENTS[:4]), bodies(EVENTS[4:])
    world.append_to_end_of_segment(*early)
    world.append(*late[:2], segment_bytes=0)
    kept = folder.with_name("while-open")
    log = open_log(world.settings, world.folder, open_claims(world.settings))
    try:
        for each in late[2:]:
            asyncio.run(log.append([Record(RecordKind.EVENT, each)], timeout_s=10))
        shutil.copytree(world.log, kept, ignore=shutil.ignore_patterns("*-shm"))
    finally:
        asyncio.run(log.aclose())
    shutil.rmtree(world.log)
    kept.rename(world.log)


def harm_log(folder: Path, flip: Flip) -> Path:
    """Flip a byte of one file of the log. Returns the file."""
    rng = random.Random(flip.seed)
    file = rng.choice(sorted((folder / "log").glob("*-wal" if flip.place == "-wal" else "*.sqlite")))
    _flip(file, flip, rng)
    return file


def parsed(folder: Path) -> tuple[list[str], list[str]]:
    """Parse the whole log. Returns the stored bodies and the messages of the errors that report a fault."""
    named = []
    try:
        world = World(folder)
        named += [str(each) for each in [_said(partial(_take_all, world))] if each is not None]
        found = _said(world.audit)
        if isinstance(found, HeadwaterError) or not found["balanced"] or found["rejected"]:
            named.append(str(found))
        rows = world.bronze.events.run_query("SELECT body FROM t").column("body").to_pylist()
    except HeadwaterError as error:
        return [], [*named, str(error)]
    return sorted(rows), named


def _take_all(world: World) -> None:
    with closing(SqliteLogReader(world.log)) as reader:
        parser = world.parser(reader)
        while parser.commit_next():
            pass
