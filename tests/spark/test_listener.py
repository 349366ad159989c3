"""What Spark's listener, two versions of it, posts of the demo's pipeline to a running Headwater; and by other doors.

`make test` posts what was recorded: `python -m tests.spark.test_listener` records it anew.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import pytest
from rich.console import Console

from demo.report import print_report
from demo.run import when_caught_up
from headwater.tables import EVENTS
from tests.support.data.contract_judge import every_contract
from tests.support.data.lineage_world import recorded
from tests.support.data.parsing import World
from tests.support.lake_check import bronze_of
from tests.support.paths import FIXTURES, ROOT
from tests.support.running import Running
from tests.support.spark.connector_session import NEWEST, RECORDED, impersonal
from tests.support.spark.four_doors import answers, bodies_in, events_in, fill, layers, take_in
from tests.support.spark.spark_noise import SPARK_NOISE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900), *SPARK_NOISE]

KEY = "the-key-of-the-spark-tests"
ONELAKE = "abfss://Sales@onelake.dfs.fabric.microsoft.com"
SAVE = "execute_save_into_data_source_command."
MERGE = "execute_merge_into_command"
RECORDING = FIXTURES / "listener" / "demo.ndjson"
REAL = (
    pytest.param(NEWEST, marks=pytest.mark.producers),
    pytest.param("1.27.0", marks=[pytest.mark.producers, pytest.mark.long]),
)
Json = dict[str, Any]


@dataclass(frozen=True)
class Landed:
    """What one run of the pipeline left behind: the audit over HTTP, bodies as stored, what the demo prints.

    folder: with the data folder (`data`), and what went through the other doors (`doors`).
    """

    folder: Path
    listener: str
    audit: Json
    events: list[Json]
    report: str

    @property
    def stamped(self) -> int:
        """Return which of the events says the ids of the pipeline."""
        (found,) = (at for at, one in enumerate(self.events) if "headwater_pipeline" in one["run"]["facets"])
        return found

    def of(self, statement: str) -> list[Json]:
        """Return COMPLETE events by how the job's name goes on behind the application's. START may be missing."""
        wanted = f"nb_shop_medallion.{statement}"
        return [one for one in self.events if one["job"]["name"] == wanted and one["eventType"] == "COMPLETE"]

    def lineage(self, statement: str) -> Json:
        """Return the column lineage that a statement's COMPLETE carries for its only output."""
        (event,) = self.of(statement)
        (output,) = event["outputs"]
        facet: Json = output["facets"]["columnLineage"]
        return facet


@pytest.fixture(scope="module")
def land(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Landed]:
    """Run the pipeline once for each listener that is asked for, against a Headwater of its own."""

    @cache
    def run(listener: str) -> Landed:
        folder = tmp_path_factory.mktemp("listener")
        audit = arrived(folder, listener)
        events = [json.loads(body) for body in stored(folder)]
        types = dict(Counter(one["eventType"] for one in events))
        plugins = request.config.pluginmanager
        with plugins.getplugin("capturemanager").global_and_fixture_disabled():
            plugins.getplugin("terminalreporter").write_line(
                f" listener {listener}: {len(events)} events {types}, audit {audit}"
            )
        printed = StringIO()
        print_report(Console(width=300, file=printed), folder / "data", audit)
        return Landed(folder, NEWEST if listener == RECORDED else listener, audit, events, printed.getvalue())

    return run


@pytest.fixture(scope="module", params=[RECORDED, *REAL])
def landed(request: pytest.FixtureRequest, land: Callable[[str], Landed]) -> Landed:
    return land(request.param)


@pytest.fixture(scope="module", params=REAL)
def ran(request: pytest.FixtureRequest, land: Callable[[str], Landed]) -> Landed:
    """Give a pipeline that was run for real, through all doors."""
    return land(request.param)


def arrived(folder: Path, listener: str) -> Json:
    """Let a Headwater of its own take what a listener posts, or has posted; return its audit."""
    keys = json.dumps([{"name": "spark", "key": KEY, "roles": ["write", "read"]}])
    with Running(folder / "data", environment={"HEADWATER_KEYS": keys, "HEADWATER_TICK_S": "0.25"}) as running:
        if listener == RECORDED:
            post(running.url, RECORDING.read_bytes().splitlines())
        else:
            run_pipeline(running.url, listener, folder / "onelake", folder / "doors")
        return when_caught_up(running.url, KEY)


def post(url: str, bodies: list[bytes]) -> None:
    """Post one event after the other, as the listener does."""
    with httpx.Client(headers={"authorization": f"Bearer {KEY}"}, timeout=60) as client:
        for body in bodies:
            client.post(f"{url}/api/v1/lineage", content=body).raise_for_status()


def stored(folder: Path) -> list[str]:
    """Return the bodies of a Headwater's bronze in the order of the log."""
    table = bronze_of(folder / "data").tables[EVENTS.name].run_query("SELECT body FROM t ORDER BY sequence")
    return [str(body) for body in table.column("body").to_pylist()]


def record() -> None:
    """Run the pipeline under the newest listener, and record what it posts."""
    with TemporaryDirectory() as temporary:
        arrived(Path(temporary), NEWEST)
        RECORDING.write_text(impersonal("\n".join(stored(Path(temporary))) + "\n", Path(temporary)), "utf-8")


def run_pipeline(url: str, listener: str, onelake: Path, doors: Path) -> None:
    """Run it as `make demo` does, through all doors, and hold it to a clean end and a calm standard error."""
    command = [sys.executable, "-m", "demo.pipeline", "--url", url, "--listener", listener, "--lake", str(onelake)]
    done = subprocess.run(
        [*command, "--doors", str(doors)],
        cwd=ROOT,
        env=os.environ | {"HEADWATER_KEY": KEY},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr


def test_everything_the_listener_sent_is_stored_and_the_audit_balances(landed: Landed) -> None:
    assert landed.audit["received"] == landed.audit["stored"] == len(landed.events)
    assert landed.audit["balanced"]
    assert (landed.audit["rejected"], landed.audit["refused"], landed.audit["duplicates"]) == (0, 0, 0)


def test_the_demo_prints_where_the_address_is_readable_what_the_metric_is_made_of_and_what_nobody_reads(
    landed: Landed,
) -> None:
    for expected in ("exposed", "masked", "Where does", "Which columns does", "unused"):
        assert expected in landed.report


def test_contracts_of_every_dataset_are_valid_by_the_standard_and_kept(landed: Landed) -> None:
    contracts = every_contract(World(landed.folder / "data"))
    (revenue,) = (text for name, text in contracts.items() if name.endswith("/platinum/revenue"))
    assert all(f"{layer}/" in revenue for layer in ("landing", "bronze", "silver", "gold.db"))


def test_all_runs_belong_to_one_application_that_ends_well_although_jobs_failed(landed: Landed) -> None:
    last = landed.events[-1]
    parents = {
        one["run"]["facets"]["parent"]["run"]["runId"]
        for one in landed.events
        if one["job"]["name"] != last["job"]["name"]
    }
    assert (last["job"]["name"], last["eventType"]) == ("nb_shop_medallion", "COMPLETE")
    assert parents == {last["run"]["runId"]}


def test_what_fabric_sets_in_a_session_is_captured_and_the_key_is_not(landed: Landed) -> None:
    properties = landed.events[0]["run"]["facets"]["spark_properties"]["properties"]
    assert properties["spark.synapse.context.notebookname"] == "nb_shop_medallion"
    assert properties["trident.artifact.type"] == "SynapseNotebook"
    assert KEY not in json.dumps(landed.events)


def test_names_are_onelakes_and_only_1_27_starts_them_with_a_slash(landed: Landed) -> None:
    datasets = [one for event in landed.events for one in event["inputs"] + event["outputs"]]
    names = [one["name"] for one in datasets if one["namespace"] == ONELAKE]
    assert len(names) > 40
    assert {one["namespace"] for one in datasets} <= {ONELAKE, "file"}
    assert {name.startswith("/Shop.Lakehouse/") for name in names} == {landed.listener == "1.27.0"}


def test_mask_udf_and_case_are_told_apart(landed: Landed) -> None:
    fields = landed.lineage(SAVE + "silver_customers")["fields"]
    assert ("customer_email", "DIRECT", "TRANSFORMATION", True) in sources(fields, "email_sha")
    assert ("customer_email", "DIRECT", "TRANSFORMATION", False) in sources(fields, "email_domain")
    assert ("country", "INDIRECT", "CONDITIONAL", False) in sources(fields, "region")


def test_an_address_is_readable_again_under_another_name(landed: Landed) -> None:
    fields = landed.lineage(SAVE + "platinum_mailing")["fields"]
    assert sources(fields, "contact") == {("customer_email", "DIRECT", "IDENTITY", False)}


def test_a_window_is_indirect(landed: Landed) -> None:
    fields = landed.lineage(SAVE + "platinum_top_customers")["fields"]
    assert ("spent", "INDIRECT", "WINDOW", False) in sources(fields, "place")


def test_a_mask_behind_another_step_is_reported_by_1_27_only(landed: Landed) -> None:
    fields = landed.lineage(SAVE + "silver_customers")["fields"]
    assert sources(fields, "match_key") == {("customer_email", "DIRECT", "TRANSFORMATION", landed.listener == "1.27.0")}


@pytest.mark.parametrize(
    ("merge", "source"), [(f"{MERGE}.silver_customers", "customer_changes"), (MERGE, "late_orders")]
)
def test_the_source_of_a_merge_is_in_its_column_lineage_only(landed: Landed, merge: str, source: str) -> None:
    (event,) = landed.of(merge)
    assert not any(source in one["name"] for one in event["inputs"])
    assert source in json.dumps(landed.lineage(merge))


def test_a_column_masked_by_a_merge_vanishes_from_its_lineage_but_not_from_the_schema(landed: Landed) -> None:
    (event,) = landed.of(f"{MERGE}.silver_customers")
    columns = [one["name"] for one in event["outputs"][0]["facets"]["schema"]["fields"]]
    assert "email_sha" in columns
    assert "email_sha" not in landed.lineage(f"{MERGE}.silver_customers")["fields"]


def test_a_write_that_failed_is_reported_complete_but_without_statistics(landed: Landed) -> None:
    """The one FAIL is the RDD job's; it has no START in 1.27.0, and a bare number for a name."""
    (event,) = landed.of("execute_insert_into_hadoop_fs_relation_command.export_broken")
    assert "outputStatistics" not in event["outputs"][0].get("outputFacets", {})
    assert [one["eventType"] for one in landed.events].count("FAIL") == 1


@pytest.mark.parametrize("statement", ["execute_update_command", "execute_delete_command"])
def test_update_and_delete_name_no_dataset(landed: Landed, statement: str) -> None:
    (event,) = landed.of(statement)
    assert (event["inputs"], event["outputs"]) == ([], [])


def test_a_stream_reads_single_files_and_only_1_53_says_where_it_writes(landed: Landed) -> None:
    batches = [
        one
        for one in landed.events
        if one["job"].get("facets", {}).get("jobType", {}).get("processingType") == "STREAMING"
        and one["eventType"] == "COMPLETE"
    ]
    outputs = {Path(one["name"]).name for event in batches for one in event["outputs"]}
    assert {Path(one["name"]).name for event in batches for one in event["inputs"]} == {"1.json", "2.json"}
    assert outputs == ({"clicks"} if landed.listener == "1.53.0" else set())


def dumped(event: dict[str, Any]) -> bytes:
    """Return an event as the listener writes it: facets are kept as their text."""
    return json.dumps(event, separators=(",", ":"), ensure_ascii=False).encode()


@pytest.fixture(scope="module")
def lakes(ran: Landed) -> dict[str, Path]:
    """Fill a lake through each door but HTTP, which has one already.

    `until`: what came over HTTP until the session was stamped; then it was harnessed and the plugin flushed, which is
    what these two doors can have of an application that goes on.
    """
    doors, onelake = ran.folder / "doors", ran.folder / "data-onelake"
    take_in(onelake, doors / "onelake")
    through = {
        "file": events_in(doors / "lineage.ndjson"),
        "harness": events_in(doors / "harness"),
        "plugin": bodies_in(doors / "plugin"),
        "until": [dumped(event) for event in ran.events[: ran.stamped + 1]],
    }
    for door, events in through.items():
        fill(ran.folder / f"data-{door}", events)
    return {"http": ran.folder / "data", "onelake": onelake} | {door: ran.folder / f"data-{door}" for door in through}


def test_lineage_through_each_door_answers_every_question_alike(lakes: dict[str, Path], ran: Landed) -> None:
    answered = {door: answers(data) for door, data in lakes.items()}
    assert len(answered["http"]) > 100
    for door in ("onelake", "file"):
        assert answered[door] == answered["http"], door
    assert answered["plugin"] == answered["until"]
    application = ("run", f"run={ran.events[-1]['run']['runId']}")
    states = {door: answered[door][application]["run"].pop("state") for door in ("until", "harness")}
    ends = {door: answered[door][application]["run"].pop("ended") for door in ("until", "harness")}
    assert (states, ends["until"]) == ({"until": "RUNNING", "harness": "COMPLETE"}, None)
    assert ends["harness"]
    assert answered["harness"] == answered["until"]


@pytest.mark.long
def test_lineage_through_each_door_makes_the_same_silver_and_gold(
    request: pytest.FixtureRequest, lakes: dict[str, Path]
) -> None:
    """Asks for Spark itself: a file that names it waits for all other tests of it, and this is the one long one."""
    session: Any = request.getfixturevalue("spark")
    built = {door: layers(session, lakes[door]) for door in ("http", "onelake", "file", "plugin", "until")}
    assert built["http"]["gold.column_edges"]
    assert built["http"]["gold.unused_columns"]
    for door, like in (("onelake", "http"), ("file", "http"), ("plugin", "until")):
        for table, rows in built[door].items():
            others = built[like][table]
            apart = [row for row in rows if row not in others], [row for row in others if row not in rows]
            assert (rows == others, *apart) == (True, [], []), (door, table)


DIRECT, INDIRECT = "direct", "indirect"
FILES = ("landing/clicks/1.json", "landing/clicks/2.json")
REPLACED = "gold.db/customer_360"
REPLACED_COLUMNS = {
    "customer_id": ("customers.customer_id", DIRECT),
    "customer_hash": ("customers.customer_email", "masked"),
    "email_domain": ("customers.email_domain", DIRECT),
    "region": ("customers.region", DIRECT),
    "spent": ("orders.amount", DIRECT),
    "last_order": ("orders.ordered_on", DIRECT),
}
REPLACED_BY = [f"customers.{column}" for column in ("customer_email", "customer_id", "email_domain", "region")]
REPLACED_BY.append("orders.customer_id")
ALWAYS = {
    "1.53.0 does not see the mask of a hash over a column that the same query made (lower, trim)": {
        ("1.27.0", "bronze/customers.customer_email", "silver/customers.match_key", "masked"),
        ("1.53.0", "bronze/customers.customer_email", "silver/customers.match_key", DIRECT),
    },
    "neither sees into an RDD: 1.53.0 says so, 1.27.0 takes its columns for those of the table, even one not there": {
        *(("1.27.0", f"silver/customers.{one}", f"platinum/scores.{one}", DIRECT) for one in ("customer_id", "score")),
        ("1.27.0", "silver/customers", "platinum/scores", "columns"),
        ("1.53.0", "silver/customers", "platinum/scores", "opaque"),
    },
    "1.27.0 does not say where a stream writes": {
        ("1.53.0", f"{file}.{column}", f"bronze/clicks.{column}", DIRECT)
        for file in FILES
        for column in ("click_id", "customer_id", "page")
    }
    | {("1.53.0", file, "bronze/clicks", "columns") for file in FILES},
}
"""What differs each time: (the listener that reports it, from, to, how), by what the other one leaves out."""

SOMETIMES = {
    "1.27.0 does not report that coalesce() chooses by the value, where 1.53.0 reports the statement at all": {
        ("1.53.0", "silver/orders.amount", f"{REPLACED}.spent", INDIRECT),
    },
    "1.53.0 leaves the keys of the join out of CREATE TABLE AS SELECT, whose second run it seldom sends": {
        ("1.27.0", f"silver/{table}.customer_id", f"gold.db/revenue.{column}", INDIRECT)
        for table in ("customers", "orders")
        for column in ("country", "ordered_on", "orders", "region", "revenue")
    },
    "the columns of CREATE OR REPLACE TABLE AS SELECT are in its second run only, which 1.53.0 does not always send": {
        ("1.27.0", f"silver/{origin}", f"{REPLACED}.{column}", how)
        for column, (one, how) in REPLACED_COLUMNS.items()
        for origin, how in [(one, how), *((other, INDIRECT) for other in REPLACED_BY)]
    }
    | {
        (listener, f"silver/{table}", REPLACED, how)
        for table in ("customers", "orders")
        for listener, how in (("1.27.0", "columns"), ("1.53.0", "opaque"))
    },
}
"""What differs when one of the listeners skips an event, because the query has ended before it gets to it."""


@pytest.mark.long
@pytest.mark.producers
def test_both_listeners_give_the_same_lineage_but_for_what_one_of_them_does_not_report(
    land: Callable[[str], Landed],
) -> None:
    older, newer = (recorded(land(listener).events) for listener in ("1.27.0", "1.53.0"))
    only = {("1.27.0", *edge) for edge in (older.edges | older.tables) - (newer.edges | newer.tables)}
    only |= {("1.53.0", *edge) for edge in (newer.edges | newer.tables) - (older.edges | older.tables)}
    always, sometimes = (set().union(*listed.values()) for listed in (ALWAYS, SOMETIMES))
    assert only >= always, "a listed difference is none: take it off the list"
    assert only - always - sometimes == set(), "this difference is explained by nothing"
    assert len(older.edges & newer.edges) > 140


def sources(fields: Json, column: str) -> set[tuple[str, str, str, bool]]:
    """Return where a column comes from and how: (field, type, subtype, masking)."""
    return {
        (one["field"], how["type"], how["subtype"], how["masking"])
        for one in fields[column]["inputFields"]
        for how in one["transformations"]
    }


if __name__ == "__main__":
    record()
