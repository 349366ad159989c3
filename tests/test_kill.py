"""Kill -9 of any process at any point: nothing acknowledged is lost, nothing is stored twice."""

from pathlib import Path

import pytest

from tests.killing import COMPACTED, PARSER_POINTS, SERVE_POINTS, Siege, points_of

SESSIONS = 12


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_nothing_acknowledged_is_lost_or_doubled_by_48_kills(tmp_path: Path) -> None:
    siege = Siege(tmp_path, seed=20260301)
    for session in range(SESSIONS):
        siege.run(*points_of(session))
    found, rate = siege.reckon()
    kills = siege.kills
    print(f"{kills.total()} kills: {dict(kills.places)}; at least {min(kills.in_flight)} events in flight")  # noqa: T201 - shown with -s
    print(f"{rate:.0f} acknowledged/s; slowest restart {max(kills.restarts_s):.1f} s; {len(found.positions)} records")  # noqa: T201
    assert kills.total() == 4 * SESSIONS
    assert kills.at_random() == kills.total() / 2
    assert kills.places.keys() >= {*SERVE_POINTS, *PARSER_POINTS, COMPACTED}
    assert rate >= 200
