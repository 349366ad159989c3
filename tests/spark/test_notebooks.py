"""The notebooks, run on a real local Spark session over a small lake: answers of the index, plots that show them."""

import ast
import json
import re
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pandas as pd
import pytest
import yaml

from headwater.common.errors import NotKnown, WrongQuestion
from headwater.operations.fabric.shortcuts import lake_shortcuts, parse_lake_address
from headwater.operations.runtime.index import open_view_opener
from headwater.operations.settings import load_settings
from headwater.questions import definitions
from headwater.questions.declaring import call_with_notebook_values
from headwater.questions.parameter_groups import Between, Walk, read_walk
from headwater.questions.producer_setup import AUTH_KEY, FABRIC, spark_properties
from headwater.questions.subjects import Bounds, Subject
from tests.reference.small_events import run as run_of
from tests.reference.world_events import dataset, parent, uuid
from tests.support.data.parsing import World
from tests.support.data.shop import ALIAS, DROPPED, EVENTS, LAKE, bodies
from tests.support.few_of_many import few_of
from tests.support.notebooks import FOLDER, Shown, cells, run
from tests.support.questions import ask
from tests.support.running import Running
from tests.support.servers.sink_target import sink_server
from tests.support.spark.spark_noise import SPARK_NOISE

NOTEBOOKS = sorted(path.stem for path in FOLDER.glob("*.Notebook"))
SPARK = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    *SPARK_NOISE,
]


IN_SESSION = {"parent": parent(uuid(900), ("jobs", "session"))}
APART = [
    run_of(901, 201, reads=[dataset((LAKE, "session/read"))], job="show", run_facets=IN_SESSION),
    run_of(902, 202, dataset((LAKE, "session/written")), job="load", run_facets=IN_SESSION),
]
"""A session that collects the rows of one table, and writes another from memory."""

SENT = [*EVENTS, DROPPED, *APART]


def on_spark(test: Any) -> Any:
    for mark in SPARK:
        test = mark(test)
    return test


class Lake:
    """The shop's events in a lake, silver and gold built by the notebook Refresh, the index beside them."""

    def __init__(self, folder: Path, spark: Any) -> None:
        self.spark, self.folder = spark, folder
        world = World(folder / "data")
        world.append(*bodies(SENT))
        parser = world.parser()
        while parser.commit_next():
            pass
        self.uri = str(world.folder / "lake")
        self.refreshed = self.run("Refresh")
        settings = load_settings({"data": world.folder}, folder=folder, environment={})[0]
        self.open_views = open_view_opener(settings, world.folder)

    def run(self, name: str, **parameters: object) -> Shown:
        return run(name, self.folder, {"spark": self.spark}, lake=self.uri, **parameters)


@pytest.fixture(scope="module")
def lake(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return Lake(tmp_path_factory.mktemp("notebooks"), spark)


@on_spark
def test_refresh_shows_how_far_silver_and_gold_are(lake: Lake) -> None:
    (found,) = lake.refreshed.values
    assert list(found["sequence"]) == [len(SENT)]


FEW_WALKS: list[tuple[str, dict[str, Any]]] = [
    ("impact", {"dataset": "landing/customers", "mode": "any"}),
    ("impact", {"namespace": ALIAS[0], "dataset": ALIAS[1], "limit": 1}),
    ("upstream", {"dataset": "other/mailing", "column": "X", "mode": "any"}),
    ("upstream", {"dataset": "session/written"}),
]
WALKS: list[tuple[str, dict[str, Any]]] = [
    ("impact", {"dataset": "loop/left", "column": "v", "depth": 1}),
    ("impact", {"dataset": ALIAS[1]}),
    ("upstream", {"dataset": "export/dump"}),
    ("impact", {"dataset": "session/read"}),
    ("upstream", {"dataset": "session/written"}),
]


@on_spark
@pytest.mark.parametrize(
    ("question", "dataset", "column"),
    [("impact", "landing/customers", "EMAIL"), ("upstream", "gold/phones", "key")],
)
def test_impact_and_upstream_are_those_of_the_index(lake: Lake, question: str, dataset: str, column: str) -> None:
    shown = lake.run(question.capitalize(), dataset=dataset, column=column)
    reached, stops = shown.values
    is_answer(reached, stops, ask(lake.open_views, question, {"dataset": dataset, "column": column}))
    shows_something(shown)


@on_spark
@pytest.mark.parametrize("walks", few_of([FEW_WALKS, WALKS], 1))
def test_walks_go_as_far_as_asked(lake: Lake, walks: list[tuple[str, dict[str, Any]]]) -> None:
    from headwater.spark.notebook.notebook_questions import Questions

    questions = Questions(lake.spark, lake.uri)
    for question, asked in walks:
        found = getattr(questions, question)(**asked)
        expected = ask(lake.open_views, question, {name: str(value) for name, value in asked.items()})
        is_answer(found.columns, found.stops, expected)
        assert found.truncated == expected["truncated"], asked
    assert list(found.stops["may_be_connected"]) == [f"{LAKE}/session/read"], "the last walk"
    with pytest.raises(NotKnown, match=r"silver/customers"):
        questions.impact("silver/customer")
    with pytest.raises(NotKnown, match=r"email_key"):
        questions.upstream("silver/customers", "email_kye")


def is_answer(columns: pd.DataFrame, stops: pd.DataFrame, expected: dict[str, Any]) -> None:
    assert walked(columns) == [
        (*named(each), each["distance"], each["masked"], each["in_schema"], *named(each["via"]),
         each["via"]["transformation"]["type"], each["via"]["job"]["name"])
        for each in expected["columns"]
    ]  # fmt: skip
    told = stops[["dataset", "reason", "onward_dataset", "jobs", "may_be_connected"]].fillna("")
    assert sorted(told.itertuples(index=False, name=None)) == sorted(
        (stop["dataset"], stop["reason"], way["dataset"],
         ", ".join(f"{job['namespace']}/{job['name']}" for job in stop["jobs"]),
         ", ".join(f"{link['namespace']}/{link['dataset']}" for link in stop["may_be_connected"]))
        for stop in expected["stops"] for way in stop["onward"] or [{"dataset": ""}]
    )  # fmt: skip


def walked(found: pd.DataFrame) -> list[tuple[Any, ...]]:
    names = [
        "namespace",
        "dataset",
        "column",
        "distance",
        "masked_on_the_way",
        "in_schema",
        "via_namespace",
        "via_dataset",
    ]
    return [tuple(row) for row in found[[*names, "via_column", "type", "job_name"]].itertuples(index=False)]


def named(each: dict[str, Any]) -> tuple[str, str, str]:
    return each["namespace"], each["dataset"], each["column"]


def shows_something(shown: Shown) -> None:
    (image,) = shown.images
    assert min(image.shape[:2]) > 100
    assert image[..., :3].std() > 0.02, "the plot is empty"


@on_spark
def test_the_surface_is_that_of_the_index(lake: Lake) -> None:
    shown = lake.run("Surface", tag="PII")
    (found,) = shown.values
    expected = ask(lake.open_views, "surface", {"tag": "pii"})
    assert [(*named(row), row["exposure"]) for row in found.to_dict("records")] == [
        (*named(each), each["exposure"]) for each in expected["items"]
    ]
    shows_something(shown)


@on_spark
@pytest.mark.parametrize(
    "given", few_of([{"dataset": "landing/customers", "column": "EMAIL"}, {"dataset": "landing/customers"}], 1)
)
def test_the_surface_of_a_column_is_that_of_the_index(lake: Lake, given: dict[str, str]) -> None:
    """Whatever its tags; the other writers of a table decide which of its columns are unknown."""
    shown = lake.run("Surface", tag="nothing", **given)
    expected = ask(lake.open_views, "surface", given)
    (found,) = shown.values
    assert len(expected["items"]) > 1
    assert [(*named(row), row["exposure"]) for row in found.to_dict("records")] == [
        (*named(each), each["exposure"]) for each in expected["items"]
    ]
    shows_something(shown)


@on_spark
def test_where_nothing_is_tagged_the_surface_says_so_and_draws_nothing(lake: Lake) -> None:
    shown = lake.run("Surface", tag="<secret>")
    (said,) = shown.texts
    assert shown.images == []
    assert "There are no results for the tag '<secret>'" in said
    assert "values may be exposed all the same" in said
    assert "Tags with results: pii" in said


@on_spark
def test_unused_columns_are_those_of_the_index(lake: Lake) -> None:
    shown = lake.run("Unused")
    (found,) = shown.values
    expected = ask(lake.open_views, "unused", {})
    assert sorted((*named(row), row["verdict"], row["reason"]) for row in found.to_dict("records")) == sorted(
        (*named(each), each["verdict"], each["reason"]) for each in expected["items"]
    )
    shows_something(shown)


@on_spark
def test_what_changed_is_what_the_index_says(lake: Lake) -> None:
    times = [datetime(2026, 3, 1, 12, *minute, tzinfo=UTC).isoformat() for minute in ((1, 15), (1, 45))]
    for since, until in [(times[0], times[1]), (times[1], "")]:
        shown = lake.run("Diff", since=since, until=until)
        (found,) = shown.values
        expected = ask(lake.open_views, "diff", {"from": since} | ({"to": until} if until else {}))
        assert [
            (row.change, row.source_dataset, row.source_column, row.target_dataset, row.target_column,
             "DIRECT" if row.direct else "INDIRECT", row.masked, row.job_name)
            for row in found.itertuples()
        ] == [
            (each["change"], each["from"]["dataset"], each["from"]["column"], each["to"]["dataset"],
             each["to"]["column"], each["type"], each["masked"], each["job"]["name"])
            for each in expected["items"]
        ], (since, until)  # fmt: skip
        shows_something(shown)


@on_spark
def test_setup_tells_what_the_session_lacks_and_when_an_event_can_be_read(spark: Any, tmp_path: Path) -> None:
    wanted = spark_properties("http://127.0.0.1:5000", "fabric/Sales", FABRIC)
    spark.conf.set("spark.openlineage.namespace", "fabric/Sales")
    spark.conf.set(AUTH_KEY, "the-secret")
    with Running(tmp_path / "data", options=["--tick", "50ms"], cwd=tmp_path) as running:
        shown = run(
            "Setup", tmp_path, {"spark": spark},
            receiver_url=running.url, reader_url=running.url, namespace="fabric/Sales", key_vault="",
        )  # fmt: skip
    compared, arrival = shown.values
    states = dict(zip(compared["property"], compared["session"], strict=True))
    assert states.keys() == {*wanted, AUTH_KEY}
    assert (states["spark.openlineage.namespace"], states[AUTH_KEY]) == ("as wanted", "is set")
    assert states["spark.extraListeners"] == "missing"
    assert "the-secret" not in compared.to_string()
    assert UUID(arrival["run"])
    assert arrival["freshness_s"] == 0


@on_spark
def test_replay_says_what_it_would_send_and_sends_it(lake: Lake) -> None:
    with sink_server() as server:
        looked = lake.run("Replay", to=server.url).values
        assert (looked[0]["would_send"], server.taken) == (len(SENT), [])
        assert {each.method for each in server.asked} == {"GET"}  # the kind of the target is asked, nothing is sent
        (found,) = lake.run("Replay", to=server.url, dry_run=False, streams=2, batch=50, rate=10_000).values
    assert (found["delivered"], len(server.taken)) == (len(SENT), len(SENT))


@on_spark
def test_ingest_takes_what_landed_and_shows_how_much(lake: Lake) -> None:
    (landed := lake.folder / "landed").mkdir()
    (landed / "1.ndjson").write_bytes(b"\n".join(bodies(EVENTS[:3])))
    (found,) = lake.run("Ingest", place=str(landed), log="again", keep="30d", kind="ndjson").values
    assert (found["files"], found["records_in_lake"], found["deleted"]) == (1, 3, 0)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_is_in_fabrics_git_format(name: str) -> None:
    parts = cells(FOLDER / f"{name}.Notebook")
    metadata = [
        json.loads(re.sub(r"^# META ?", "", part.text, flags=re.M)) for part in parts if part.kind == "METADATA"
    ]
    assert metadata[0]["kernel_info"] == {"name": "synapse_pyspark"}
    needs = metadata[0]["dependencies"]
    assert needs["lakehouse"]["default_lakehouse"] == logical_id("Lineage.Lakehouse")
    assert needs["environment"]["environmentId"] == logical_id("Headwater.Environment")
    code = [part for part in parts if part.kind in ("CELL", "PARAMETERS CELL")]
    assert metadata[1:] == [{"language": "python", "language_group": "synapse_pyspark"}] * len(code)
    for part in code:
        compile(part.text, name, "exec")
    assert all(line.startswith("#") for part in parts if part.kind == "MARKDOWN" for line in part.text.splitlines())
    assert [part.kind for part in parts].count("PARAMETERS CELL") == 1


@pytest.mark.parametrize("name", ["Impact", "Upstream", "Surface", "Unused", "Diff"])
def test_a_notebook_asks_with_the_parameters_of_its_question(name: str) -> None:
    """Names, meanings and bounds of the cell of parameters are those of the declaration; what is empty is left out."""
    (cell,) = (part.text for part in cells(FOLDER / f"{name}.Notebook") if part.kind == "PARAMETERS CELL")
    lake, *lines = cell.splitlines()
    assert lake == 'lake = "Files/headwater"'
    taken = {each.notebook_name: each for each in getattr(definitions, name.lower()).parameters}
    for line in lines:
        key, value, meaning = re.fullmatch(r"(\w+) = (\S+)  # (.+)", line).groups()  # type: ignore[union-attr]
        assert meaning == taken[key].help.meaning
        taken[key].parse(str(ast.literal_eval(value)))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"depth": 0}, "depth=0 is not between 1 and 1000"),
        ({"mode": "all"}, "Write value or any"),
        ({"dataset": ""}, "dataset= is missing"),
        ({"colum": "x"}, "There is no parameter 'colum'. The parameters are namespace, dataset, column, mode"),
    ],
)
def test_what_a_notebook_asks_with_is_read_as_over_http(given: dict[str, Any], words: str) -> None:
    walk = call_with_notebook_values(read_walk, {"dataset": "x", "column": None, "roots": True, "depth": 3})
    assert walk == Walk(Subject(None, "x", None), "value", Bounds(3, 1_000), True, False)
    assert call_with_notebook_values(Between, {"since": datetime(2026, 3, 1, tzinfo=UTC), "until": ""}).to is None
    with pytest.raises(WrongQuestion, match=words):
        call_with_notebook_values(read_walk, {"dataset": "x", **given})


def test_every_item_has_its_own_identity() -> None:
    items = [path.parent for path in FOLDER.glob("*/.platform")]
    assert {path.suffix for path in items} == {".Notebook", ".Lakehouse", ".Environment", ".DataPipeline"}
    platforms = [json.loads((path / ".platform").read_text()) for path in items]
    for path, platform in zip(items, platforms, strict=True):
        assert (platform["metadata"]["displayName"], platform["metadata"]["type"]) == (path.stem, path.suffix[1:])
        assert UUID(platform["config"]["logicalId"])
    assert len({platform["config"]["logicalId"] for platform in platforms}) == len(items)


def logical_id(item: str) -> str:
    found: str = json.loads((FOLDER / item / ".platform").read_text())["config"]["logicalId"]
    return found


def test_the_pipeline_runs_the_notebook_of_its_name() -> None:
    """Fabric's page "DataPipeline definition", activity TridentNotebook."""
    told = json.loads((FOLDER / "Refresh.DataPipeline" / "pipeline-content.json").read_text())
    (activity,) = told["properties"]["activities"]
    assert activity["type"] == "TridentNotebook"
    assert activity["typeProperties"]["notebookId"] == logical_id("Refresh.Notebook")
    assert UUID(activity["typeProperties"]["workspaceId"]).int == 0  # the workspace that it is in


def test_the_environment_has_the_properties_that_setup_looks_for_and_the_packages_that_are_needed() -> None:
    folder = FOLDER / "Headwater.Environment"
    compute = yaml.safe_load((folder / "Setting" / "Sparkcompute.yml").read_text())
    found = compute["spark_conf"]
    wanted = spark_properties("https://RECEIVER_HOST", "fabric/WORKSPACE_NAME", FABRIC)
    assert found == wanted | {AUTH_KEY: "RECEIVER_WRITE_KEY"}
    libraries = yaml.safe_load((folder / "Libraries" / "PublicLibraries" / "environment.yml").read_text())
    needed = tomllib.loads((FOLDER.parent / "pyproject.toml").read_text())["project"]["dependencies"]
    replays = "pydantic>=2.8,<2.10"  # later ones would replace Fabric's typing-extensions
    assert libraries["dependencies"][0]["pip"] == sorted({*needed, replays} - {"pyarrow"})  # which Fabric brings


def test_the_environment_asks_for_compute_in_the_form_of_fabrics_item_definition() -> None:
    """Fabric's page "Environment definition": what is required, of which type, among which values."""
    text = (FOLDER / "Headwater.Environment" / "Setting" / "Sparkcompute.yml").read_text()
    found = yaml.safe_load(text)
    assert {name: type(value) for name, value in found.items()} == {
        "enable_native_execution_engine": bool,
        "instance_pool_id": type(None),  # the starter pool
        "driver_cores": int,
        "driver_memory": str,
        "executor_cores": int,
        "executor_memory": str,
        "dynamic_executor_allocation": dict,
        "spark_conf": dict,
        "runtime_version": str,
    }
    assert all(type(value) is str for value in found["spark_conf"].values())
    assert {found["driver_cores"], found["executor_cores"]} <= {4, 8, 16, 32, 64}
    assert {found["driver_memory"], found["executor_memory"]} <= {"28g", "56g", "112g", "224g", "400g"}
    executors = found["dynamic_executor_allocation"]
    assert executors.keys() == {"enabled", "min_executors", "max_executors"}
    assert 1 <= executors["min_executors"] < executors["max_executors"]


def test_every_placeholder_is_replaced_when_it_is_published() -> None:
    """By names in capitals; `_ALL_` would let fabric-cicd print the key."""
    told = yaml.safe_load((FOLDER / "parameter.yml").read_text())["find_replace"]
    assert all(re.fullmatch(r"\$ENV:HEADWATER_[A-Z_]+", each["replace_value"]["fabric"]) for each in told)
    assert all(list(each["replace_value"]) == ["fabric"] for each in told)
    items = [path for path in FOLDER.glob("*/**/*") if path.is_file() and path.name != ".platform"]
    found = {word for path in items for word in re.findall(r"\b[A-Z][A-Z_]{4,}\b", path.read_text())}
    words = {re.search(r"[A-Z][A-Z_]{4,}", each["find_value"])[0] for each in told}  # type: ignore[index]
    assert found - {"METADATA", "MARKDOWN", "PARAMETERS", "FABRIC", "DATABRICKS"} == words


def test_what_a_publisher_deploys_as_lakehouse_is_the_shortcut_of_the_command() -> None:
    (found,) = json.loads((FOLDER / "Lineage.Lakehouse" / "shortcuts.metadata.json").read_text())
    lake = next(lake_shortcuts(parse_lake_address("abfss://CONTAINER@ACCOUNT.dfs.core.windows.net"), {}, None))
    assert found["target"].pop("type") == "AdlsGen2"
    assert found == lake.body("CONNECTION_ID")
