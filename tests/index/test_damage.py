"""With a damaged index, a question is answered correctly or refused with the advice to retry, and no event
is blamed.
"""

import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from headwater.common.errors import HeadwaterError, LakeUnavailable
from headwater.index.home import IndexHome
from headwater.index.reading.feed import FeedReader
from headwater.index.reading.search import Search
from headwater.index.reading.status import published_progress, published_set_aside_events, unpublished_progress
from headwater.index.reading.view_opener import ViewOpener
from headwater.index.rules_files import RulesFiles
from headwater.index.stored.integrity import SUFFIX, is_file_intact
from headwater.index.writing.follower import IndexFollower
from headwater.lineage.names.canonical_names import default_rules
from tests.reference.world_events import at, uuid
from tests.support.data.parsing import World
from tests.support.data.shop import DROPPED, EVENTS, bodies
from tests.support.few_of_many import few_of
from tests.support.questions import ask

pytestmark = pytest.mark.slow  # each test damages about a hundred files

PAGE = 4096
HARM = [b"\xa5", b"\0"]
STEPS = few_of([4, 1], 1)
"""Every how many pages one is harmed."""
QUESTIONS: list[tuple[str, dict[str, str]]] = [
    ("coverage", {}), ("unused", {}), ("surface", {}), ("datasets", {}), ("listed_runs", {}), ("diff", {"from": at(9)}),
    ("impact", {"dataset": "landing/customers", "mode": "any", "paths": "true"}), ("run", {"run": uuid(2)}),
    ("upstream", {"dataset": "gold/mailing", "view": "all"}), ("unused", {"asOf": at(75)}),
]  # fmt: skip
"""Questions about the present and the past, about lineage and lists."""


class Indexed(NamedTuple):
    """A lake whose index lacks the last event. content: the bytes of the index file.

    The file has no page checksums, like one from an older version, so other checks must find the damage.
    """

    world: World
    home: IndexHome
    file: Path
    content: bytes

    @property
    def note(self) -> Path:
        return self.file.with_name("damaged")

    def harm(self, at_byte: int, harm: bytes) -> None:
        """Overwrite a part of the original file, and delete earlier reports of damage."""
        self.file.write_bytes(self.content[:at_byte] + harm + self.content[at_byte + len(harm) :])
        self.note.unlink(missing_ok=True)
        self.forget_sums()

    def forget_sums(self) -> None:
        self.file.with_name(self.file.name + SUFFIX).unlink(missing_ok=True)

    def answers(self) -> Iterator[Any]:
        """Yield the answer to each question, or LakeUnavailable if the caller should retry."""
        home, rules = IndexHome(self.file.parent), RulesFiles(self.world.folder / "rules")
        with (
            closing(ViewOpener(home, rules)) as views,
            closing(Search(home, rules)) as search,
            closing(FeedReader(home)) as feed,
        ):
            asked: list[Callable[[], Any]] = [
                partial(ask, views, name, given, bronze=self.world.bronze) for name, given in QUESTIONS
            ]
            beside: list[Callable[[], Any]] = [
                lambda: search.find_hits("mail").hits,
                lambda: feed.read_changes(feed.end_of_feed()._replace(number=0))[0],
                lambda: published_progress(home),
            ]
            for question in (*asked, *beside):
                try:
                    yield question()
                except LakeUnavailable:
                    yield LakeUnavailable


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Indexed:
    """Provide a lake whose index contains all events but the last."""
    world = World(tmp_path_factory.mktemp("damage") / "data")
    home = IndexHome(world.folder / "index")
    world.append(*bodies(EVENTS))
    world.parser().commit_next()
    follow(home, world)
    world.append(*bodies([DROPPED]))
    world.parser().commit_next()
    with closing(sqlite3.connect(home.published_file().path)) as index:
        index.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        index.execute("PRAGMA journal_mode=DELETE")
    return Indexed(world, home, home.published_file().path, home.published_file().path.read_bytes())


def follow(home: IndexHome, world: World) -> list[str]:
    """Bring an index up to date. Returns the messages of the errors raised meanwhile."""
    said: list[str] = []
    with closing(IndexFollower(home, world.bronze)) as follower:
        while True:
            try:
                if not follower.process_batches(default_rules()):
                    return said
            except LakeUnavailable as error:
                said.append(str(error))


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("harm", HARM, ids=["a5", "zeros"])
def test_whatever_page_is_harmed_no_answer_is_wrong_and_its_writer_learns_of_it(
    indexed: Indexed, harm: bytes, step: int
) -> None:
    indexed.harm(0, b"")
    right = list(indexed.answers())
    assert LakeUnavailable not in right
    refused, pages = 0, range(PAGE, len(indexed.content), step * PAGE)
    for start in pages:
        indexed.harm(start, harm * PAGE)
        found = list(indexed.answers())
        assert [one for one, other in zip(found, right, strict=True) if one not in (other, LakeUnavailable)] == []
        assert indexed.note.exists() == (LakeUnavailable in found)
        refused += found.count(LakeUnavailable)
    assert refused > len(pages)


@pytest.mark.parametrize("count", few_of([50, 450], 1))
def test_of_whatever_bytes_sqlite_finds_harmed_a_question_is_told(indexed: Indexed, count: int) -> None:
    rng = random.Random(20261126)
    for _ in range(count):
        start, length = rng.randrange(PAGE, len(indexed.content)), rng.choice([1, 8, 100])
        indexed.harm(start, rng.choice(HARM) * min(length, len(indexed.content) - start))
        try:
            list(indexed.answers())
        except HeadwaterError:
            pass  # an overwritten name is unknown
        except Exception:
            assert is_file_intact(indexed.file), "a changed value of the same type has no checksum"


def test_whatever_page_is_harmed_the_index_becomes_whole(indexed: Indexed) -> None:
    indexed.harm(0, b"")
    follow(indexed.home, indexed.world)
    right = list(indexed.answers())
    found_harm = 0
    for start in range(PAGE, len(indexed.content), 5 * PAGE):
        found_harm += bool(harmed_and_followed(indexed, start, HARM[0] * PAGE))
        while LakeUnavailable in (found := list(indexed.answers())):
            follow(indexed.home, indexed.world)
        assert found[: len(QUESTIONS)] == right[: len(QUESTIONS)]
    assert found_harm


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("harm", HARM, ids=["a5", "zeros"])
def test_whatever_is_harmed_within_a_page_no_event_is_blamed(indexed: Indexed, harm: bytes, step: int) -> None:
    found_harm = 0
    for page in range(PAGE, len(indexed.content), step * PAGE):
        for start in (600, 3000):
            found_harm += bool(harmed_and_followed(indexed, page + start, harm * 1000))
            with suppress(LakeUnavailable):  # no question has met the damage so far
                assert published_set_aside_events(IndexHome(indexed.file.parent), 0) == []
    assert found_harm


def harmed_and_followed(indexed: Indexed, at_byte: int, harm: bytes) -> list[str]:
    """Let a new process follow bronze with a damaged index. Returns its error messages."""
    indexed.home.delete_index(indexed.file)
    indexed.harm(at_byte, harm)
    indexed.home.publish(indexed.file)
    said = follow(IndexHome(indexed.file.parent), indexed.world)
    assert all("damaged" in each for each in said)
    return said


@pytest.mark.parametrize(
    ("right", "wrong"), [(b"mailing", b"\xf4ailing"), (b"\xacgold/mailing", b"\xc4\x0bold/mailing")]
)
def test_a_value_of_another_type_or_encoding_is_damage_and_mended(indexed: Indexed, right: bytes, wrong: bytes) -> None:
    """SQLite's checks find no damage, because the byte is within a value."""
    indexed.harm(0, b"")
    follow(indexed.home, indexed.world)
    told = list(indexed.answers())
    with closing(sqlite3.connect(indexed.file)) as index:
        rows = index.execute("SELECT edge_set, value FROM edges WHERE instr(value, ?)", (right,)).fetchall()
        index.executemany(
            "UPDATE edges SET value = ? WHERE edge_set = ?", [(v.replace(right, wrong), n) for n, v in rows]
        )
        index.commit()
    indexed.forget_sums()
    assert rows
    assert is_file_intact(indexed.file)
    assert LakeUnavailable in list(indexed.answers())
    assert all("damaged" in each for each in follow(indexed.home, indexed.world))
    assert list(indexed.answers())[: len(QUESTIONS)] == told[: len(QUESTIONS)]


def test_an_error_of_ours_is_no_damage_and_one_of_a_file_that_was_replaced_none_any_more(indexed: Indexed) -> None:
    indexed.harm(0, b"")
    published = indexed.home.published_file()
    with pytest.raises(TypeError), indexed.home.index_errors(published):
        raise TypeError
    assert not indexed.note.exists()
    indexed.harm(PAGE, HARM[0] * (len(indexed.content) - PAGE))
    with pytest.raises(TypeError), indexed.home.index_errors(published):  # the file was intact a moment ago
        raise TypeError
    another = IndexHome(indexed.file.parent)
    with pytest.raises(LakeUnavailable), another.index_errors(published._replace(at_ns=0)):
        raise TypeError
    assert not indexed.note.exists(), "the new index file must not be deleted"
    with pytest.raises(LakeUnavailable), another.index_errors(published):
        raise TypeError
    assert indexed.note.exists()


def test_of_files_that_go_while_they_are_looked_at_none_is_being_built(tmp_path: Path) -> None:
    (tmp_path / "gone.sqlite").symlink_to(tmp_path / "nothing")
    home = IndexHome(tmp_path)
    assert home.unpublished_path() is None
    assert unpublished_progress(home) == {}
    (tmp_path / "14-new.sqlite-wal").touch()
    assert home.unpublished_path() == tmp_path / "14-new.sqlite"
    assert not home.is_published_file(tmp_path / "14-new.sqlite")


@pytest.mark.parametrize("note", [b"\0" * 20, b"\xff\xfe", b"", b"../lake"], ids=repr)
def test_notes_beside_the_index_that_a_power_cut_spoiled_hold_nobody_up(indexed: Indexed, note: bytes) -> None:
    indexed.harm(0, b"")
    follow(indexed.home, indexed.world)
    right = list(indexed.answers())
    for name in ("current", "damaged", "attempts-0.json"):
        (indexed.file.parent / name).write_bytes(note)
    assert follow(IndexHome(indexed.file.parent), indexed.world) == []
    assert indexed.home.published_file().path == indexed.file
    assert list(indexed.answers())[: len(QUESTIONS)] == right[: len(QUESTIONS)]
