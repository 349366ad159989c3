"""Measure how fast a machine without an index answers its first question, on a lake of 800,000 column edges.

The benchmark makes index snapshots like a running instance. It then starts a process with an empty disk on the lake and
sends questions over ASGI, as the Function App does, until one succeeds. It measures a local folder, and Azure Blob
Storage emulated by Azurite on this machine behind the tests' proxy.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from bench import wide
from bench.answers import LIMIT
from bench.figures import QUICK_ROUNDS, ROUNDS, Figure, middle, show
from bench.lineage import parse
from bench.wide import JOBS, NAMESPACE, wide_events
from headwater.index.reading.live_graph import LiveGraph
from headwater.lake.object_store import ObjectStore
from headwater.lineage.names.canonical_names import default_rules
from headwater.lineage.snapshots.snapshot import without_masking_file
from headwater.operations.runtime.data_folder import prepare_folder
from headwater.operations.runtime.index import open_index_home, open_snapshots, open_view_opener
from headwater.operations.runtime.storage import lake_root_and_options
from headwater.operations.settings import Settings, load_settings

GOAL_S = 5.0

_INSTANCE = """
import asyncio, json, sys, threading, time
from pathlib import Path
import httpx
from headwater.operations.runtime.data_folder import prepare_folder
from headwater.operations.runtime.index import maintain_index
from headwater.operations.runtime.api import ApiResources
from headwater.operations.settings import load_settings
values, asked = json.loads(sys.argv[1]), json.loads(sys.argv[2])
settings = load_settings(values, folder=Path(values["data"]), environment={})[0]
folder = prepare_folder(settings)
side, stop = ApiResources(settings, folder, lambda: lambda: ()), threading.Event()
keeping = threading.Thread(target=maintain_index, args=(settings, folder, stop))
keeping.start()
async def ask():
    transport = httpx.ASGITransport(side.build_app())
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        while True:
            answer = await client.get("/api/headwater/v1/upstream", params=asked)
            if answer.status_code == 200:
                return len(answer.json()["columns"])
            await asyncio.sleep(0.02)
print(json.dumps({"found": asyncio.run(ask()), "cpu": time.process_time()}), flush=True)
stop.set()
keeping.join()
"""


def run(rounds: int = ROUNDS, jobs: int = JOBS) -> list[Figure]:
    """Measure with a local folder, then with the same lake in Azurite. Each of the jobs has 400 column edges."""
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as name:
        place = Path(name)
        first = _settings(data=place / "first", lake=place / "first" / "lake")
        folder = prepare_folder(first)
        parse(folder, wide_events(jobs))
        figures = _making(first, folder)
        figures += _starts("a folder", rounds, place, first)
        return figures + _on_azurite(rounds, place)


def _settings(**values: Any) -> Settings:
    values = {name: value if isinstance(value, dict) else str(value) for name, value in values.items()}
    return load_settings(values, folder=Path(values["data"]), environment={})[0]


def _making(settings: Settings, folder: Path) -> list[Figure]:
    began = time.process_time()
    open_view_opener(settings, folder).close()
    built = time.process_time() - began
    snapshots, rules = open_snapshots(settings, folder), default_rules()
    assert snapshots
    path = open_index_home(folder).index_path(rules)
    wall, cpu = time.perf_counter(), time.process_time()
    assert snapshots.make(path, rules.rules_hash)
    spent, cpu = time.perf_counter() - wall, time.process_time() - cpu
    pieces = [each.stat().st_size for each in Path(settings.lake or "").glob("index/*/*/*.lz4")]
    return [
        Figure("index built from scratch, CPU", built, "s"),
        Figure("index file", path.stat().st_size / 1e6, "MB"),
        Figure("  snapshot", sum(pieces) / 1e6, "MB"),
        Figure("making a snapshot", spent, "s"),
        Figure("  CPU", cpu, "s"),
    ]


def _starts(where: str, rounds: int, place: Path, lake: Settings) -> list[Figure]:
    """Start processes with an empty disk. The floor is the time to fetch the same files and load the graph."""
    spent = [_start(place / f"{where} {number}", lake) for number in range(rounds)]
    floor = middle([_floor(place / f"{where} 0", lake) for _ in range(rounds)])
    wall = middle([each[0] for each in spent])
    return [
        Figure(f"process start to the first answer, {where}", wall, "s", GOAL_S, floor=floor, ratio=wall / floor),
        Figure("  CPU of that process", middle([each[1] for each in spent]), "s", GOAL_S),
    ]


def _start(data: Path, lake: Settings) -> tuple[float, float]:
    options = {name: value.get_secret_value() for name, value in lake.lake_options.items()}
    values = {"data": str(data), "lake": lake.lake, "lake_options": options}
    asked = {"namespace": NAMESPACE, "dataset": wide.name(wide.IN_LAYER, wide.IN_LAYER), "limit": LIMIT}
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", _INSTANCE, json.dumps(values), json.dumps(asked)],
        stdout=subprocess.PIPE,
        check=True,
    )
    wall, output = time.perf_counter() - began, json.loads(done.stdout)
    assert output["found"], "the process returned no columns"
    assert list((data / "index").glob("*.begun")), "the process did not look for a snapshot"
    return wall, output["cpu"]


def _floor(data: Path, lake: Settings) -> float:
    store = ObjectStore(*lake_root_and_options(lake))
    began = time.perf_counter()
    names = [each.name for each in store.files("index") if each.name.endswith(".lz4")]
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(store.read, names))
    LiveGraph(open_index_home(data).published_file().path, without_masking_file).close()
    return time.perf_counter() - began


def _on_azurite(rounds: int, place: Path) -> list[Figure]:
    from tests.support.servers.azurite import KEY, PATIENT, Storage

    with Storage() as storage:
        values = storage.lake(account_key=KEY, **PATIENT)
        lake = _settings(data=place / "cloud", **values)
        root = place / "first" / "lake"
        store = ObjectStore(*lake_root_and_options(lake))
        for path in sorted(each for each in root.rglob("*") if each.is_file()):
            store.create(str(path.relative_to(root)), path.read_bytes())
        return _starts("Azurite", rounds, place, lake)


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--jobs", type=int, default=JOBS, help="number of jobs, each with 400 column edges")
    arguments = parser.parse_args()
    show("Cold start", run(QUICK_ROUNDS if arguments.quick else ROUNDS, arguments.jobs))


if __name__ == "__main__":
    main()
