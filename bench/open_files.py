"""Count the open files and the stored files of Headwater over many small commits of unique events.

`python -m bench.open_files [COMMITS]` puts each event into its own log segment. Every 50 commits, it prints the open
descriptors of each process (and how many belong to the log), the log files, the lake's data files in use and in total,
and the entries of the tables' logs.
"""

import os
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import httpx
import psutil
from deltalake import DeltaTable

from bench.running import Server, headwater
from tests.support.data.parsing import event

EVERY = 50


def measure(commits: int) -> None:
    """Post one event at a time, wait until it is in the lake, and count the files."""
    with (
        tempfile.TemporaryDirectory() as name,
        headwater(tick="20ms", folder=Path(name)) as server,
        httpx.Client(base_url=server.url, timeout=60) as client,
    ):
        for number in range(1, commits + 1):
            client.post("/api/v1/lineage", content=event(number, (f"column_{number}",))).raise_for_status()
            while client.get("/api/headwater/v1/freshness").json().get("log", 1):
                time.sleep(0.01)
            if number % EVERY == 0:
                client.get("/health/ready")
                client.get("/metrics")
                client.get("/api/headwater/v1/audit").raise_for_status()
                sys.stdout.write(f"{number} commits: {_descriptors(server)}; {_files(server.folder)}\n")
                sys.stdout.flush()


def _descriptors(server: Server) -> str:
    roles = {"serve": server.process, "parser": server.parser, "index": server.index}
    return ", ".join(f"{name} {_opened(process)}" for name, process in roles.items() if process)


def _opened(process: psutil.Process) -> str:
    links = []
    for path in Path(f"/proc/{process.pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            links.append(str(path.readlink()))
    return f"{len(links)} ({sum('/log/' in link for link in links)} of the log)"


def _files(folder: Path) -> str:
    tables = [path.parent for path in (folder / "lake").rglob("_delta_log")]
    live = sum(len(DeltaTable(str(table)).file_uris()) for table in tables)
    data = sum(1 for table in tables for _ in table.rglob("*.parquet") if "_delta_log" not in _.parts)
    entries = sum(1 for table in tables for _ in (table / "_delta_log").iterdir())
    return (
        f"log {len(list((folder / 'log').iterdir()))} files, lake {live} files in use of {data}, {entries} log entries"
    )


if __name__ == "__main__":
    os.environ.setdefault("HEADWATER_SEGMENT_BYTES", "1")
    measure(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
