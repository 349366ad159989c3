"""A lake with some runs, and the results of `headwater reconcile` for it."""

import json
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.support.commands import commanded
from tests.support.data.parsing import World

Json = dict[str, Any]
SPARK = "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/spark"
OTHER = "https://writers.test/loader"


def stamp(moment_us: int) -> str:
    """Format a time (us) as producers do."""
    return datetime.fromtimestamp(moment_us / 1e6, UTC).isoformat()


def run_events(
    job: str, began_us: int, ended_us: int | None, *, end: str = "COMPLETE", run: str = "", parent: str = "",
    producer: str = OTHER, facets: Json | None = None, inputs: Sequence[Json] = (), outputs: Sequence[Json] = (),
) -> list[bytes]:  # fmt: skip
    """Return a run's START event and, if the run ended, its end event."""
    above = {"parent": {"run": {"runId": parent}, "job": {"namespace": "jobs", "name": "above"}}} if parent else {}
    event = {
        "producer": producer,
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": run or str(uuid.uuid4()), "facets": {**above, **(facets or {})}},
        "job": {"namespace": "jobs", "name": job},
        "inputs": list(inputs),
        "outputs": list(outputs),
    }
    times = [("START", began_us)] + ([(end, ended_us)] if ended_us is not None else [])
    return [json.dumps({"eventType": kind, "eventTime": stamp(us), **event}).encode() for kind, us in times]


def land(folder: Path, bodies: Sequence[bytes]) -> None:
    """Append events to the log and parse them."""
    world = World(folder)
    world.append(*bodies)
    parser = world.parser()
    while parser.commit_next():
        pass


def reconcile(folder: Path, *arguments: str | Path, status: int = 1) -> Json:
    """Run `headwater reconcile` on a data folder, and return its JSON output."""
    done = commanded("reconcile", "--data", folder, "--json", *arguments)
    assert (done.returncode, done.stderr) == (status, ""), done.stdout + done.stderr
    found: Json = json.loads(done.stdout)
    return found


def kinds(found: Json) -> list[tuple[str, str]]:
    """Return kind and name of each finding."""
    return [(each["kind"], each["name"]) for each in found["items"]]
