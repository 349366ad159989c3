"""Kill -9 of any process at any point loses no acknowledged event and stores none twice."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from deltalake import DeltaTable, write_deltalake

from tests.support.data.parsing import World, event
from tests.support.faults.killing import COMPACTED, PARSER_POINTS, SERVE_POINTS, Siege, points_of
from tests.support.producers import LOW_RATE, RATE
from tests.support.running import headwater

FEW = ((0, 5), {*SERVE_POINTS, PARSER_POINTS[0], PARSER_POINTS[-1]}, LOW_RATE)
EVERY = ((*range(6), 9), {*SERVE_POINTS, *PARSER_POINTS, COMPACTED}, RATE)
"""Sessions, their fail points (`points_of`), and events per second. `make torture` runs 500 kills."""


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("sessions", "places", "rate"), [pytest.param(*FEW, id="8"), pytest.param(*EVERY, id="28", marks=pytest.mark.long)]
)
def test_nothing_acknowledged_is_lost_or_doubled_by_kills(
    tmp_path: Path, sessions: Sequence[int], places: set[str], rate: int
) -> None:
    siege = Siege(tmp_path, seed=20260301, rate=rate)
    for session in sessions:
        siege.run(*points_of(session))
    found, per_s = siege.reckon()
    kills = siege.kills
    print(f"{kills.total()} kills: {dict(kills.places)}; at least {min(kills.in_flight)} events in flight")  # noqa: T201 - shown with -s
    print(f"{per_s:.0f} acknowledged/s; slowest restart {max(kills.restarts_s):.1f} s; {len(found.positions)} records")  # noqa: T201
    assert kills.total() == 4 * len(sessions)
    assert kills.at_random() == kills.total() / 2
    assert kills.places.keys() >= places
    assert len(found.positions) > rate // 3 * kills.total(), "too few events arrived between the kills to prove much"
    lake = DeltaTable(tmp_path / "lake" / "bronze" / "events")
    lake.delete(f"event_id = '{next(iter(found.runs))}'")
    with pytest.raises(AssertionError, match="acknowledged"):
        siege.check()  # the check notices one missing event among tens of thousands


@pytest.mark.slow
@pytest.mark.parametrize("change", ["a row deleted", "a row doubled"])
def test_a_tampered_bronze_row_makes_the_audit_red(tmp_path: Path, change: str) -> None:
    world = World(tmp_path)
    world.append(event(1), event(2), event(2), b"{}")
    world.parser().commit_next()
    assert headwater("audit", "--data", str(tmp_path)).returncode == 0
    events = DeltaTable(tmp_path / "lake" / "bronze" / "events")
    if change == "a row deleted":
        events.delete("sequence = 1")
    else:
        write_deltalake(events, events.to_pyarrow_table(filters=[("sequence", "=", 1)]), mode="append")
    audit = headwater("audit", "--json", "--data", str(tmp_path))
    assert audit.returncode == 1
    assert json.loads(audit.stdout)["balanced"] is False
