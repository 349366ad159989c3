"""The index stores only some mentions of schemas, and answers as if it had stored all of them."""

import sqlite3
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.index.stored.database import SCHEMA
from headwater.index.stored.numbers import NameNumbers
from headwater.index.stored.schemas import SchemaMentionTable
from headwater.lineage.edges.schema_history import SchemaMention, column_lists_at
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import NameSpan
from tests.support.cleanup import until_end

NAME = Name("n", "table")
STEADY = settings(derandomize=True, deadline=None, database=None)

uses = st.builds(
    SchemaMention, st.booleans(), st.integers(0, 30), st.integers(0, 2), st.sampled_from(["a", "b"]), st.just(0),
    st.sampled_from(["one", "two"]), st.integers(0, 2),
)  # fmt: skip


class Keeper:
    """The table of mentions, next to a list of all mentions, from which it can read those of earlier batches again."""

    def __init__(self) -> None:
        self.sql = until_end(sqlite3.connect(":memory:", isolation_level=None))
        self.sql.executescript(SCHEMA)
        self.earlier: list[SchemaMention] = []
        self.table = SchemaMentionTable(self.sql, NameNumbers(self.sql), lambda _: self.earlier)

    def take(self, batch: list[SchemaMention], *, pieces: int = 1) -> None:
        """Add a batch in pieces, as when a question arrives during the batch."""
        self.table.begin_batch()
        for piece in range(pieces):
            self.table.add_mentions(NAME, batch[piece::pieces])
            self.table.flush()
        self.earlier += batch

    def kept(self) -> list[SchemaMention]:
        return sorted(self.table.mentions_newest_first(NameSpan(NAME)))


def lists_of(oldest_first: list[SchemaMention], time_us: int) -> list[str]:
    return list(column_lists_at(reversed(oldest_first), time_us).schema_hashes)


@pytest.mark.slow
@settings(STEADY, max_examples=300)
@given(st.lists(st.lists(uses, min_size=1, max_size=6), min_size=1, max_size=8), st.integers(0, 2**32))
def test_the_schema_of_any_time_is_found_whatever_was_left_out(batches: list[list[SchemaMention]], seed: int) -> None:
    keeper, chance = Keeper(), Random(seed)
    for batch in batches:
        keeper.take(batch, pieces=chance.randint(1, 2))
    every, kept = sorted(set(keeper.earlier)), keeper.kept()
    assert [lists_of(kept, at) for at in range(-1, 32)] == [lists_of(every, at) for at in range(-1, 32)]
    assert column_lists_at(reversed(kept)).base_list == column_lists_at(reversed(every)).base_list
    keeper.table.keep_all_mentions([NAME])
    assert keeper.kept() == every


def test_of_a_schema_that_a_thousand_events_mention_two_mentions_are_kept() -> None:
    keeper = Keeper()
    for night in range(1000):
        keeper.take([SchemaMention(True, night, 0, "a", 0, "one")])
    assert [seen.time_us for seen in keeper.kept()] == [0, 999]


def test_another_schema_amid_what_was_left_out_brings_it_back() -> None:
    keeper = Keeper()
    keeper.take([SchemaMention(True, night, 0, "a", 0, "one") for night in range(5)])
    keeper.take([SchemaMention(True, 2, 0, "b", 0, "two")])
    assert [seen.time_us for seen in keeper.kept()] == [0, 1, 2, 2, 3, 4]
