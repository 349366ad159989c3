"""Measure the latency of API questions to a running Headwater, sent sequentially over one connection."""

import http.client
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import msgspec

from bench.figures import Figure, percentile
from bench.running import headwater, memory_mb
from bench.wide import NAMESPACE, early_columns

REQUESTS = 500
LIMIT = 1000
_PAST = "2030-01-01T00:00:00Z"


def answers(folder: Path) -> list[Figure]:
    """Let `headwater up` build its index, then measure impact questions for 500 columns.

    Only questions that reach the limit of 1,000 columns count.
    """
    shutil.rmtree(folder / "index", ignore_errors=True)
    with headwater(tick="1s", folder=folder) as server:
        client = Client(server.url)
        client.wait_for_index()
        columns = iter(early_columns())
        client.impact(*next(columns))  # the first question loads the index
        waits: list[float] = []
        asked, before = 0, server.process.cpu_times()
        while len(waits) < REQUESTS:
            wait, found = client.impact(*next(columns))
            asked += 1
            if found == LIMIT:  # ignore the few columns that reach fewer
                waits.append(wait)
        after = server.process.cpu_times()
        cpu_ms = (after.user + after.system - before.user - before.system) * 1000 / asked
        memory = memory_mb(server.process, "VmRSS")
        lineage = list(_lineage(client))
        floor = [client.get("/health/live")[0] for _ in range(REQUESTS)]
        past = [client.impact(*next(columns), asOf=_PAST)[0] for _ in range(2)]
        assert server.index
        return [
            *_percentiles(waits, floor),
            Figure("  CPU per question", cpu_ms, "ms"),
            *lineage,
            Figure("process serve with this graph: memory", memory, "MB", 1024),
            Figure("  peak, with a point-in-time question", memory_mb(server.process, "VmHWM"), "MB"),
            Figure("process index: peak memory", memory_mb(server.index, "VmHWM"), "MB", 1024),
            Figure("impact asOf: first question about a point in time", past[0] / 1000, "s"),
            Figure("  second question", past[1], "ms"),
        ]


def _lineage(client: "Client") -> Iterator[Figure]:
    """Measure the two Marquez lineage requests for the tables of these columns."""
    for path, depth, goal in (("lineage", 2, 50), ("column-lineage", 5, 100)):
        tables = [f"dataset:{NAMESPACE}:{table}" for table, _ in early_columns()[: REQUESTS // 5]]
        waits = [client.get(f"/api/v1/{path}", nodeId=table, depth=str(depth))[0] for table in tables]
        yield Figure(f"{path} of {len(waits)} datasets, depth {depth}: p50", percentile(waits, 0.5), "ms", goal)


def _percentiles(waits: list[float], floor: list[float]) -> list[Figure]:
    found = []
    for share, goal in ((0.5, 10.0), (0.99, 40.0)):
        ours, least = percentile(waits, share), percentile(floor, share)
        name = f"impact of {len(waits)} columns, limit {LIMIT:,}: p{share * 100:.0f}"
        found.append(Figure(name, ours, "ms", goal, floor=least, ratio=ours / least))
    return found


class Client:
    """An HTTP client with one persistent connection. All latencies are in milliseconds."""

    def __init__(self, url: str):
        where = urlsplit(url)
        self._connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=300)

    def get(self, path: str, **parameters: str) -> tuple[float, int, bytes]:
        """Return the time until the last byte of the response, its status and its body."""
        target = f"{path}?{urlencode(parameters)}" if parameters else path
        began = time.perf_counter()
        self._connection.request("GET", target)
        answer = self._connection.getresponse()
        body = answer.read()
        return (time.perf_counter() - began) * 1000, answer.status, body

    def impact(self, dataset: str, column: str, **as_of: str) -> tuple[float, int]:
        """Return the latency and the number of columns; raises SystemExit if the status is not 200."""
        asked = {"namespace": NAMESPACE, "dataset": dataset, "column": column, "limit": str(LIMIT), **as_of}
        wait, status, body = self.get("/api/headwater/v1/impact", **asked)
        if status != 200:
            raise SystemExit(f"The impact question {asked} failed with status {status}: {body[:300]!r}.")
        return wait, len(msgspec.json.decode(body)["columns"])

    def wait_for_index(self) -> None:
        """Wait until the index is ready (until then, the API responds with 503)."""
        while self.get("/api/headwater/v1/coverage", limit="1")[1] == 503:
            time.sleep(0.5)
