"""Search for the event that costs a component the most CPU per byte, and measure it at 1 MB.

The components are the receiver, the parser, the index, the lineage rules of a Spark silver task, and the two sinks that
convert lineage (DataHub, Purview). The search also varies the SQL of an event.

`python -m bench.slowest --tries 300 --seed 1` starts from the worst known events and changes how often each part
occurs (hill climbing), at 64 KB. It then scales the worst event of each component to 1 MB. The goal is that no 1 MB
event costs a component more than 2 s of CPU.

`--spark` also measures how much CPU the worst events add to a Spark pass.
"""

import argparse
import gc
import random
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import asdict
from operator import itemgetter
from pathlib import Path

from bench.figures import Figure, middle, show
from bench.spark_pass import CORES, measured
from headwater.events.envelope import read_envelope
from headwater.index.writing.follower import IndexFollower
from headwater.lineage.edges.facet_contents import FacetContentsInMemory
from headwater.lineage.edges.output_lineage import EdgeRules
from headwater.lineage.edges.run_edges import derive_output_lineages
from headwater.lineage.names.canonical_names import default_rules
from headwater.lineage.names.name_resolution import NameResolver
from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.runs.event_reading import FactsReader
from headwater.lineage.runs.merged_run import merge_run
from headwater.operations.runtime.index import open_index_home
from headwater.sinks.interface.target_registry import open_sink
from headwater.sinks.targets.purview.entities import EntityBuilder
from headwater.sinks.targets.purview.names import QualifiedNames
from headwater.spark.refresh import refresh
from headwater.spark.session import LASTING, local_session
from tests.support.data.heavy_events import Heavy
from tests.support.data.parsing import World
from tests.support.data.sink_world import no_token, sink, stored

SMALL, LARGE = 64_000, 1_000_000
WORST_S = 2.0
_BEST = 4
_TRIES_PER_FOLDER = 25
STATIONS = ("receiver", "parser", "index", "rules", "sinks")
KNOWN = (
    Heavy(),
    Heavy(symlinks=3000, of_dataset=50),
    Heavy(inputs=300, outputs=300),
    Heavy(inputs=100, outputs=100, columns=1, unlisted=1, edges=1),
    Heavy(inputs=0, outputs=1, columns=19, unlisted=467, nested=1, of_dataset=225),
    Heavy(columns=146, unlisted=1, nested=77, edges=1, symlinks=56),
    Heavy(unlisted=232, nested=100),
    Heavy(of_dataset=138, symlinks=8314),
    Heavy(inputs=979, outputs=979, of_dataset=1),
    Heavy(outputs=421, columns=1, nested=32, of_dataset=1, symlinks=1, tables=1),
)
"""The worst events of earlier searches, where a search starts."""

PASSES = 3
_WARMING = 3


class Stations:
    """A log, a lake and an index in a folder, to measure the CPU cost (s) of an event in each component."""

    def __init__(self, folder: Path) -> None:
        self._world = World(folder)
        self._follower = IndexFollower(open_index_home(self._world.folder), self._world.bronze)
        self._rules = default_rules()
        self._number = 0
        self._base = dict.fromkeys(STATIONS, 0.0)
        self.spend(Heavy())
        self._base = self.spend(Heavy())

    def spend(self, event: Heavy) -> dict[str, float]:
        """Return the cost of a new event beyond the cost of an empty event."""
        self._number += 2
        body = event.body(self._number)
        self._world.append(body)
        gc.collect()
        parser = self._world.parser()
        spent = {
            "receiver": _cpu(lambda: read_envelope(body)),
            "parser": _cpu(parser.commit_next),
            "index": _cpu(self._follow),
            "rules": _cpu(lambda: self._derive(body)),
            "sinks": _cpu(lambda: self._convert(body)),
        }
        return {name: max(0.0, cpu - self._base[name]) for name, cpu in spent.items()}

    def _derive(self, body: bytes) -> None:
        """Derive edges with the functions that Spark's silver tasks run."""
        contents, naming = FacetContentsInMemory(), NameResolver()
        fact = FactsReader(self._rules.canonical, contents).read_event("id", 1, body.decode())
        rules = EdgeRules(contents, naming, lambda _, column: column, lambda _, __: None)
        derive_output_lineages(merge_run([fact], naming), rules)

    def _convert(self, body: bytes) -> None:
        """Convert the event for the two sinks that read lineage."""
        events = stored([body])
        with closing(open_sink(sink(type="datahub", url="http://127.0.0.1:1"), no_token)) as target:  # type: ignore[arg-type]
            target.convert(events)
        builder = EntityBuilder(QualifiedNames((), self._rules))
        builder.run_entities([builder.read_facts(each) for each in events])

    def _follow(self) -> None:
        while self._follower.process_batches(self._rules):
            pass

    def close(self) -> None:
        """Close the index."""
        self._follower.close()


def search(tries: int, seed: int) -> list[tuple[str, float, Heavy]]:
    """Return the component, cost and event of the worst 1 MB events found, one for each component."""
    chance = random.Random(seed)
    worst: dict[str, list[tuple[float, Heavy]]] = {name: [(0.0, each) for each in KNOWN] for name in STATIONS}
    for first in range(0, tries, _TRIES_PER_FOLDER):
        with tempfile.TemporaryDirectory(prefix="headwater-bench-") as folder:
            stations = Stations(Path(folder))
            for number in range(first, min(tries, first + _TRIES_PER_FOLDER)):
                aim = STATIONS[1 + number % (len(STATIONS) - 1)]
                event = chance.choice(worst[aim])[1].changed(chance).scaled(SMALL)
                size = len(event.body(0))
                if size < SMALL // 2:
                    continue  # the event has no parts that scale
                spent = stations.spend(event)
                for name, cpu in spent.items():
                    worst[name] = sorted([*worst[name], (cpu / size, event)], key=lambda each: -each[0])[:_BEST]
            stations.close()
    found = _at_full_size(event for ranked in worst.values() for _, event in ranked)
    return [(name, *max(((spent[name], event) for event, spent in found), key=itemgetter(0))) for name in STATIONS]


def _at_full_size(events: Iterable[Heavy]) -> list[tuple[Heavy, dict[str, float]]]:
    """Measure each event at 1 MB, in a new folder."""
    found = []
    for event in dict.fromkeys([*events, *KNOWN]):
        large = event.scaled(LARGE)
        with tempfile.TemporaryDirectory(prefix="headwater-bench-") as folder:
            stations = Stations(Path(folder))
            found.append((large, stations.spend(large)))
            stations.close()
    return found


def spark_passes(events: Iterable[Heavy]) -> list[Figure]:
    """Measure the CPU of the JVM and its Python workers for Spark passes with and without each 1 MB event."""
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as folder, local_session(CORES, LASTING) as spark:
        world = World(Path(folder))
        number = 0

        def cpu_of(event: Heavy) -> float:
            nonlocal number
            number += 2
            world.append(event.body(number))
            world.parser().commit_next()
            with measured(spark, world.folder / "lake") as found:
                refresh(spark, str(world.folder / "lake"), UserRules())
            return found.cpu_s

        for _ in range(_WARMING):
            cpu_of(Heavy())
        found = []
        for event in events:
            pairs = [(cpu_of(Heavy()), cpu_of(event)) for _ in range(PASSES)]
            beyond = middle([after - before for before, after in pairs])
            found.append(Figure(f"spark: extra cost of a pass with {_description(event)}", beyond, "s", WORST_S))
            found.append(Figure("  a pass without it", middle([before for before, _ in pairs]), "s"))
        return found


def _description(event: Heavy) -> str:
    counts = ", ".join(f"{name} {value}" for name, value in asdict(event).items() if value)
    return f"the slowest event of 1 MB ({counts})"


def _cpu(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=300)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--spark", action="store_true", help="also measure Spark passes with the worst events")
    chosen = parser.parse_args()
    found = search(chosen.tries, chosen.seed)
    figures = [Figure(f"{station}: {_description(event)}", cpu, "s", WORST_S) for station, cpu, event in found]
    if chosen.spark:
        figures += spark_passes(dict.fromkeys(event for _, _, event in found))
    show(f"Slowest events, seed {chosen.seed}, {chosen.tries} tries", figures)


if __name__ == "__main__":
    main()
