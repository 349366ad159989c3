"""Search for the event that costs a station the most CPU per byte, and measure it at 1 MB.

Stations: receiver, parser, index, the rules as one task of Spark's silver runs them, and the two sinks that convert
lineage (DataHub, Purview). The SQL of an event varies, too.

`python -m bench.slowest --tries 300 --seed 1`: hill climbing over what an event may say how often, at 64 KB; the worst
found of each station is then made 1 MB large. Goal: no event of 1 MB costs any station over 2 s of CPU.
"""

import argparse
import gc
import random
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

from bench.figures import Figure, show
from headwater.events.envelope import read_envelope
from headwater.index.writing.index_follower import IndexFollower
from headwater.lineage.edges.facet_contents import ContentsInMemory
from headwater.lineage.edges.run_edges import EdgeRules, contributions
from headwater.lineage.names.canonical_names import default_rules
from headwater.lineage.names.names_in_time import Naming
from headwater.lineage.runs.event_reading import FactsReader
from headwater.lineage.runs.merged_run import fold
from headwater.runtime.indexes import open_index_home
from headwater.sinks.contract.target_registry import open_sink
from headwater.sinks.targets.purview.purview_entities import EntityBuilder
from headwater.sinks.targets.purview.purview_names import QualifiedNames
from tests.heavy_events import Heavy
from tests.parsing import World
from tests.sinking import no_token, sink, stored

SMALL, LARGE = 64_000, 1_000_000
WORST_S = 2.0
_KEPT = 4
_ANEW = 25
STATIONS = ("receiver", "parser", "index", "rules", "sinks")


class Stations:
    """A log, a lake and an index in a folder; what each station spends on one event (s of CPU)."""

    def __init__(self, folder: Path) -> None:
        self._world = World(folder)
        self._follower = IndexFollower(open_index_home(self._world.folder), self._world.bronze)
        self._rules = default_rules()
        self._number = 0
        self._base = dict.fromkeys(STATIONS, 0.0)
        self.spend(Heavy())
        self._base = self.spend(Heavy())

    def spend(self, event: Heavy) -> dict[str, float]:
        """Return what a new event costs beyond an event that says nothing."""
        self._number += 2
        body = event.body(self._number)
        self._world.append(body)
        gc.collect()
        parser = self._world.parser()
        spent = {
            "receiver": _cpu(lambda: read_envelope(body)),
            "parser": _cpu(parser.step),
            "index": _cpu(self._follow),
            "rules": _cpu(lambda: self._derive(body)),
            "sinks": _cpu(lambda: self._convert(body)),
        }
        return {name: max(0.0, cpu - self._base[name]) for name, cpu in spent.items()}

    def _derive(self, body: bytes) -> None:
        """Derive edges as silver does, whose Python tasks run the same functions."""
        contents, naming = ContentsInMemory(), Naming()
        fact = FactsReader(self._rules.canonical, contents).read("id", 1, body.decode())
        rules = EdgeRules(contents, naming, lambda _, column: column, lambda _, __: None)
        contributions(fold([fact], naming), rules)

    def _convert(self, body: bytes) -> None:
        """Convert the event for the two sinks that read lineage."""
        events = stored([body])
        with closing(open_sink(sink(type="datahub", url="http://127.0.0.1:1"), no_token)) as target:  # type: ignore[arg-type]
            target.convert(events)
        builder = EntityBuilder(QualifiedNames((), self._rules))
        builder.of_run([builder.facts(each) for each in events])

    def _follow(self) -> None:
        while self._follower.step(self._rules):
            pass

    def close(self) -> None:
        """Let go of the index."""
        self._follower.close()


def search(tries: int, seed: int) -> list[Figure]:
    """Return the worst that was found for each station, at 1 MB."""
    chance = random.Random(seed)
    worst: dict[str, list[tuple[float, Heavy]]] = {name: [(0.0, Heavy())] for name in STATIONS}
    for first in range(0, tries, _ANEW):
        with tempfile.TemporaryDirectory(prefix="headwater-bench-") as folder:
            stations = Stations(Path(folder))
            for number in range(first, min(tries, first + _ANEW)):
                aim = STATIONS[1 + number % (len(STATIONS) - 1)]
                event = chance.choice(worst[aim])[1].changed(chance).scaled(SMALL)
                size = len(event.body(0))
                if size < SMALL // 2:
                    continue  # nothing in it grows
                spent = stations.spend(event)
                for name, cpu in spent.items():
                    worst[name] = sorted([*worst[name], (cpu / size, event)], key=lambda each: -each[0])[:_KEPT]
            stations.close()
    return [figure for name in STATIONS for figure in _large(name, worst[name])]


def _large(station: str, found: list[tuple[float, Heavy]]) -> list[Figure]:
    spent = []
    for _, event in found:
        large = event.scaled(LARGE)
        with tempfile.TemporaryDirectory(prefix="headwater-bench-") as folder:
            stations = Stations(Path(folder))
            spent.append((stations.spend(large)[station], large))
            stations.close()
    cpu, event = max(spent, key=lambda each: each[0])
    said = ", ".join(f"{name} {value}" for name, value in asdict(event).items() if value)
    return [Figure(f"{station}: the slowest event of 1 MB ({said})", cpu, "s", WORST_S)]


def _cpu(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=300)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    chosen = parser.parse_args()
    show(f"Slowest events, seed {chosen.seed}, {chosen.tries} tries", search(chosen.tries, chosen.seed))


if __name__ == "__main__":
    main()
