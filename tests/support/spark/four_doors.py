"""Lakes filled with the same events through several doors: what each answers, and what its silver and gold hold."""

import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from deltalake import DeltaTable
from pyspark.sql import SparkSession

from demo.run import when_caught_up
from headwater.cli.answer_source import DataFolder
from headwater.events.event_files import read_event_texts
from headwater.questions import definitions
from headwater.questions.declaring import Question
from headwater.spark.layer_generations import LAYERS
from headwater.tables import POSITIONS
from tests.support.data.parsing import World
from tests.support.lake_check import rows
from tests.support.running import Running, headwater
from tests.support.spark.spark_lake import SparkLake

Answers = dict[tuple[str, ...], Any]

EVERYTHING = {"limit": "10000"}
_TRACE = re.compile(r'"stackTrace":"(?:[^"\\]|\\.)*"|(?<=^\d \d{20} \d )[0-9a-f]{32}')
"""Of a facet, and the event's id in the text of an order: an id is a digest of all that the event says."""
OF_RECEIPT = ("received", "late", "parts")
"""In the names of columns that say when an event came, or hold what does: that is the doors' own."""


def events_in(folder: Path) -> list[bytes]:
    """Return the events of a folder of files, or of one file, in the order of their names."""
    files = sorted(folder.rglob("[!.]*.ndjson")) if folder.is_dir() else [folder]
    return [event.text for file in files for event in read_event_texts(file) if event.text]


def bodies_in(table: Path) -> list[bytes]:
    """Return the events of the plugin's table, as they came."""
    rows = DeltaTable(table).to_pyarrow_table(columns=["received_at", "headers", "body"]).to_pylist()
    came = sorted(rows, key=lambda row: row["received_at"])
    return [gzip.decompress(row["body"]) if _is_packed(row["headers"]) else row["body"] for row in came]


def _is_packed(headers: list[tuple[str, str]]) -> bool:
    return ("content-encoding", "gzip") in headers


def fill(data: Path, events: list[bytes]) -> None:
    """Let a lake of its own take these events."""
    world = World(data)
    world.append(*events)
    parser = world.parser()
    while parser.commit_next():
        pass


def take_in(data: Path, folder: Path) -> None:
    """Let a lake of its own take a folder of files as its users do."""
    with Running(data) as running:
        done = headwater("ingest", folder, "--server", running.url, "--state", data / "state", "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        when_caught_up(running.url, "no key is needed")


def answers(data: Path) -> Answers:
    """Ask every question about everything that a lake knows."""
    return dict(_asked(DataFolder(data), data))


def without_traces(value: Any) -> Any:
    """Return an answer or a cell without stack traces.

    Spark's scheduler adds the caller's frames to an exception of a job after it was thrown (SPARK-8644), while the
    listener writes it down once for each door: which of them get the longer text is a matter of luck.
    """
    if isinstance(value, dict):
        return {name: None if name == "trace" else without_traces(each) for name, each in value.items()}
    if isinstance(value, list):
        return [without_traces(each) for each in value]
    return _TRACE.sub("", value) if isinstance(value, str) else value


def _asked(folder: DataFolder, data: Path) -> Iterator[tuple[tuple[str, ...], Any]]:
    def ask(question: Question, *, run: str | None = None, **asked: str) -> tuple[tuple[str, ...], Any]:
        path = {"run": run} if run else {}
        named = (str(question.called), *(f"{key}={value}" for key, value in (asked | path).items()))
        return named, without_traces(folder.ask(question, asked, **path))

    unused = ask(definitions.unused, **EVERYTHING)
    yield unused
    yield ask(definitions.unused, strict="true", **EVERYTHING)
    yield ask(definitions.coverage, **EVERYTHING)
    yield ask(definitions.diff, **{"from": "2020-01-01T00:00:00Z"}, **EVERYTHING)
    yield ask(definitions.graph)
    columns = {(item["namespace"], item["dataset"], item["column"]) for item in unused[1]["items"]}
    for namespace, dataset in sorted({each[:2] for each in columns}):
        about = {"namespace": namespace, "dataset": dataset}
        yield ask(definitions.around, **about)
        for view in ("current", "all"):
            yield ask(definitions.impact, **about, mode="any", view=view, paths="true")
            yield ask(definitions.upstream, **about, mode="any", view=view, paths="true")
    for namespace, dataset, column in sorted(columns):
        yield ask(definitions.around, namespace=namespace, dataset=dataset, column=column, mode="any")
        yield ask(definitions.surface, namespace=namespace, dataset=dataset, column=column, **EVERYTHING)
    for run in sorted({row["run_id"] for row in rows(data, "events", ["run_id"])}):
        yield ask(definitions.run, run=run)
    for entity, name in (("run", "headwater_pipeline"), ("run", "spark_jobDetails"), ("dataset", "schema")):
        yield ask(definitions.facets, entity=entity, name=name, limit="1000")


def layers(spark: SparkSession, data: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Build silver and gold, and return their rows without times of receipt."""
    lake = SparkLake(spark, data)
    lake.build()
    found: dict[str, list[tuple[Any, ...]]] = {}
    for layer, tables in LAYERS.items():
        for table in tables:
            if table is not POSITIONS:
                named = [name for name in table.columns if name != "batch"]  # as of plain()
                kept = [n for n, name in enumerate(named) if not any(word in name for word in OF_RECEIPT)]
                plain = (tuple(without_traces(row[n]) for n in kept) for row in lake.plain(layer, table))
                found[f"{layer}.{table.name}"] = sorted(plain, key=repr)
    return found
