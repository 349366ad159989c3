"""Start processes that write to one table of a lake at the same time, each with its own rows and some shared rows."""

import json
import subprocess
import sys
from collections.abc import Mapping

from tests.support.lake_check import rows_at
from tests.support.paths import ROOT

Place = tuple[str, int]
"""Partition and sequence number of a row."""

_WRITE = """
import json, sys
from headwater.events.position import Source
from headwater.lake.bronze_tables import Bronze
asked = json.load(sys.stdin)
bronze = Bronze(asked["root"], asked["options"])
bronze.create("parser/test", "life")
table = bronze.tables["duplicates"]
for sequence in range(1, asked["commits"] + 1):
    for partition in (asked["own"], "shared"):
        source = Source("log", "life", partition)
        rows = [(sequence, ("log", "life", partition, sequence, sequence, "id"))]
        table.append_once(source.app_id, table.prepare(rows), sequence)
"""


def race(lake: str, options: Mapping[str, str], writers: int, commits: int) -> tuple[list[Place], list[Place]]:
    """Append to a table of the lake from several processes. Returns the stored rows and the expected rows."""
    asked = {"root": f"{lake}/bronze", "options": dict(options), "commits": commits}
    command, root = [sys.executable, "-c", _WRITE], ROOT
    started = [subprocess.Popen(command, stdin=subprocess.PIPE, cwd=root, text=True) for _ in range(writers)]
    for number, writer in enumerate(started):
        assert writer.stdin
        writer.stdin.write(json.dumps({**asked, "own": str(number)}))
        writer.stdin.close()
    assert [writer.wait(120) for writer in started] == [0] * writers
    stored = rows_at(lake, "duplicates", None, dict(options))
    partitions = [*map(str, range(writers)), "shared"]
    found = sorted((str(row["partition"]), int(row["sequence"])) for row in stored)
    return found, [(name, sequence) for name in partitions for sequence in range(1, commits + 1)]
