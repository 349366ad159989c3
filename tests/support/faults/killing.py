"""Kill processes at named fail points and at random moments while producers post, then check the lake."""

import json
import os
import random
import signal
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from deltalake import DeltaTable

from tests.support.data.parsing import take_last_notes
from tests.support.lake_check import Found, audit_over_http, check_audit, check_lake, log_tail
from tests.support.producers import CLAIM_BYTES, RATE, Producers
from tests.support.running import Running, headwater

SERVE_POINTS = ("log.before_sync", "log.after_sync")
PARSER_POINTS = (
    "parser.after_column_lineage",
    "parser.after_schemas",
    "parser.after_rejected",
    "parser.after_duplicates",
    "parser.after_refused",
    "parser.after_events",
)
COMPACTED = "maintain.compacted"
_LOOK_S = 0.2
_POINT_S = 240.0
"""A busy machine needs minutes for the 100 commits before a compaction."""
_ENVIRONMENT = {
    "HEADWATER_TICK_S": "0.05",
    "HEADWATER_CLAIM_BYTES": str(CLAIM_BYTES),
    "HEADWATER_SEGMENT_BYTES": str(4 << 20),
}


@dataclass(slots=True)
class Kills:
    """Totals of all kills: the count by place, the events in flight at each kill, and the restart times in seconds."""

    places: Counter[str] = field(default_factory=Counter)
    in_flight: list[int] = field(default_factory=list)
    restarts_s: list[float] = field(default_factory=list)

    def total(self) -> int:
        return sum(self.places.values())

    def at_random(self) -> int:
        return sum(count for place, count in self.places.items() if place.startswith("random"))


class Siege:
    """One data folder, one port, producers that post continuously, and at least four kills per start."""

    def __init__(self, folder: Path, seed: int, *, rate: float = RATE) -> None:
        """rate: events per second that producers post."""
        self.kills = Kills()
        self._folder = folder
        self._random = random.Random(seed)
        with Running(folder, environment=_ENVIRONMENT) as first:
            self._port = first.port
        self._producers = Producers(self._port, seed, folder, rate=rate)
        self._started = time.monotonic()
        self._producers.start()

    def run(self, serve_point: str, parser_point: str) -> None:
        """Start Headwater, kill each child at a fail point, one child at random, then the supervisor or all three."""
        points = {"serve": serve_point, "parser": parser_point}
        passes = {"serve": self._random.randint(1, 60), "parser": self._random.randint(1, 3)}
        armed = ",".join(f"{point}:{1 if point == COMPACTED else passes[name]}" for name, point in points.items())
        with self._start({"HEADWATER_FAILPOINT": armed}) as running:
            self._await_fail_points(running, points)
            self._kill_child(running, self._random.choice(("serve", "parser")))
            self._pause()
            place, kill = self._random.choice((("supervisor", running.kill), ("all at once", running.kill_all)))
            self._note(f"random: {place}")
            kill()

    def reckon(self) -> tuple[Found, float]:
        """Wait until all events are stored, then check the lake.

        Returns its content and acknowledged events per second.
        """
        with self._start({}) as running:
            self._producers.stop()
            rate = self._producers.ledger.acknowledged() / (time.monotonic() - self._started)
            while audit_over_http(running.url).get("pending") != 0:
                assert running.process.poll() is None
                time.sleep(_LOOK_S)  # no event announces the result, so poll
            running.stop()
        take_last_notes(self._folder)
        audit = headwater("audit", "--json", "--data", str(self._folder))
        check_audit(self._folder, json.loads(audit.stdout))
        return self.check(), rate

    def check(self) -> Found:
        """Compare the lake with the producers' ledger."""
        return check_lake(self._folder, self._producers.ledger)

    def _start(self, more: dict[str, str]) -> Running:
        return Running(self._folder, port=self._port, environment={**_ENVIRONMENT, **more})

    def _await_fail_points(self, running: Running, points: dict[str, str]) -> None:
        seen = 0
        died: dict[str, float] = {}
        while len(died) < len(points):
            seen, line = running.wait_next("exited with status -9", after=seen, timeout_s=_POINT_S)
            name = line.split()[1]
            self._note(points[name])
            died[name] = time.time()
        for name, moment in died.items():
            self._await_restart(running, name, moment)

    def _kill_child(self, running: Running, name: str) -> None:
        self._pause()
        pid = running.wait_pid(name)
        seen = len(running.lines)
        self._note(f"random: {name}")
        os.kill(pid, signal.SIGKILL)
        running.wait_next(f"{name} exited with status -9", after=seen)
        self._await_restart(running, name, time.time())

    def _await_restart(self, running: Running, name: str, died: float) -> None:
        running.wait_pid(name)
        began = (self._folder / "run" / f"{name}.pid").stat().st_mtime
        self.kills.restarts_s.append(max(0.0, began - died))

    def _pause(self) -> None:
        time.sleep(self._random.uniform(0.0, 0.5))  # the random pause chooses the moment of the kill

    def _note(self, place: str) -> None:
        in_flight = self._in_flight()
        assert in_flight > 0, f"No events were in flight at the kill {place!r}, so the kill proves nothing"
        self.kills.in_flight.append(in_flight)
        self.kills.places[place] += 1

    def _in_flight(self) -> int:
        """Count events that were posted but not answered, or acknowledged but not yet in the lake."""
        unanswered = len(self._producers.ledger.unanswered)
        events = DeltaTable(self._folder / "lake" / "bronze" / "events")
        life = events.metadata().configuration["headwater.incarnation"]
        return unanswered + log_tail(self._folder) - (events.transaction_version(f"parser/local/{life}/0") or 0)


def points_of(session: int) -> tuple[str, str]:
    """Return the fail points of a session in turn.

    Compaction comes only after 100 commits, so one session in ten uses its fail point.
    """
    parser = COMPACTED if session % 10 == 9 else PARSER_POINTS[session % 6]
    return SERVE_POINTS[session % 2], parser
