"""An event that the index cannot process is set aside with its reason, and the index continues with the rest."""

import json
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from headwater.common.errors import NotKnown
from headwater.index.home import IndexHome
from headwater.index.reading.view_opener import ViewOpener
from headwater.index.writing.follower import IndexFollower
from headwater.index.writing.indexer import EVENT_CPU_S
from headwater.lake.attempts import MAX_DEATHS, UnfinishedAttempts
from headwater.lineage.names.canonical_names import default_rules
from headwater.operations.runtime.event_log import reader_opener
from headwater.operations.runtime.index import open_freshness, open_index_home, open_rules
from tests.reference.small_events import A, B, run, x_from
from tests.reference.world_events import Json, dataset
from tests.support.cleanup import until_end
from tests.support.commands import commanded
from tests.support.data.parsing import World
from tests.support.questions import ask

pytestmark = pytest.mark.slow  # each test builds an index

WIDE = 1_000
"""Number of outputs of an event that takes the index seconds. `CPU_S` is much more than an ordinary event needs."""

CPU_S = 0.2


def makes(number: int) -> Json:
    """Return a run that writes `out/NUMBER`."""
    return run(number, number, x_from(A, ("s3://lake", f"out/{number}")), job=f"job{number}")


class Place:
    """A log, a lake and an index, without servers."""

    def __init__(self, folder: Path, *events: Json) -> None:
        self.world = World(folder)
        self.world.append(*(json.dumps(event).encode() for event in events))
        self.parse()
        self.home: IndexHome = open_index_home(folder)
        readers = reader_opener(self.world.settings, folder)
        for reader in readers():
            until_end(reader)
        self.freshness = open_freshness(self.world.settings, folder, readers)

    def parse(self) -> None:
        while self.world.parser().commit_next():
            pass

    def index(self, cpu_s: float = EVENT_CPU_S) -> None:
        follower = IndexFollower(self.home, self.world.bronze, cpu_s)
        while follower.process_batches(default_rules()):
            pass
        follower.close()

    def aside(self) -> list[tuple[int, str]]:
        return [(each.sequence, each.reason) for _, each in self.freshness.set_aside_events(0)]

    def knows(self, *names: str) -> list[bool]:
        """Return for each dataset whether its upstream is known."""
        open_views = until_end(ViewOpener(self.home, open_rules(self.world.settings)))
        found = []
        for name in names:
            with suppress(NotKnown):
                found.append(name if ask(open_views, "upstream", {"dataset": name})["columns"] else "")
        return [name in found for name in names]


def test_an_event_that_costs_too_much_is_set_aside_and_an_index_built_anew_tries_it_again(tmp_path: Path) -> None:
    wide = run(2, 2, *(x_from(A, ("s3://lake", f"wide/{number}")) for number in range(WIDE)), job="job2")
    place = Place(tmp_path, makes(1), wide, makes(3))
    place.index(CPU_S)
    assert place.aside() == [(2, "too_slow")]
    assert place.knows("out/1", "wide/7", "out/3") == [True, False, True]
    assert place.freshness.count_waiting().events == 0, "answers do not wait for an event that was set aside"

    shown = commanded("rejected", "--index", "--data", tmp_path, "--json")
    (item,) = json.loads(shown.stdout)["items"]
    assert (item["sequence"], item["reason"], item["incarnation"]) == (2, "too_slow", place.world.reader().source.epoch)
    assert f"{CPU_S} s of CPU" in item["message"]
    assert json.loads(commanded("audit", "--data", tmp_path, "--json").stdout)["index"]["set_aside"] == 1

    place.home.delete_index(place.home.index_path(default_rules()))
    place.index()
    assert place.aside() == []
    assert place.knows("wide/7") == [True]


def test_an_event_that_ends_the_process_each_time_is_set_aside(tmp_path: Path) -> None:
    place = Place(tmp_path, makes(1), makes(2))
    for _ in range(MAX_DEATHS + 1):
        UnfinishedAttempts(place.home.attempts_path("0")).begin_batch(0)
    place.index()
    assert place.aside() == [(1, "kills_index")]
    assert place.knows("out/1", "out/2") == [False, True]


def test_a_row_that_is_no_event_is_set_aside_with_that_reason(tmp_path: Path) -> None:
    place = Place(tmp_path, makes(1), makes(2))
    events = DeltaTable(tmp_path / "lake" / "bronze" / "events")
    row = events.to_pyarrow_table().slice(0, 1)
    broken = {"sequence": 3, "event_id": "f" * len(row["event_id"][0].as_py()), "body": "no event", "shape": None}
    for name, value in broken.items():
        at = row.schema.get_field_index(name)
        row = row.set_column(at, row.schema.field(at), pa.array([value], row.schema.field(at).type))
    write_deltalake(events, row, mode="append")
    place.index()
    assert place.aside() == [(3, "not_json")]
    assert place.knows("out/1", "out/2") == [True, True]


def test_facets_that_say_nothing_are_told_apart_by_what_they_are(tmp_path: Path) -> None:
    """`{}` has the same hash as schema and as lineage. Mixing them up stopped the index at every start."""
    told = [run(n, n, dataset(B, **{name: {}}), job=f"job{n}") for n, name in ((1, "columnLineage"), (2, "schema"))]
    place = Place(tmp_path, told[0])
    place.index()
    place.world.append(json.dumps(told[1]).encode())
    place.parse()
    place.index()
    assert place.aside() == []
