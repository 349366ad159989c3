"""Spark's real listener, two versions of it, posts the demo's pipeline to a running Headwater."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from demo.run import when_caught_up
from headwater.runtime import open_bronze
from headwater.tables import EVENTS
from tests.running import Running

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

KEY = "the-key-of-the-spark-tests"
ONELAKE = "abfss://Sales@onelake.dfs.fabric.microsoft.com"
ROOT = Path(__file__).parents[1]
Json = dict[str, Any]


@dataclass(frozen=True)
class Landed:
    """What one run of the pipeline left behind: the audit over HTTP, the bodies as bronze has them."""

    listener: str
    audit: Json
    events: list[Json]

    def of(self, statement: str, kind: str = "COMPLETE") -> list[Json]:
        """Return events of one kind by how the job's name goes on behind the application's."""
        wanted = f"nb_shop_medallion.{statement}"
        return [one for one in self.events if one["job"]["name"] == wanted and one["eventType"] == kind]

    def output(self, name: str) -> Json:
        """Return the newest COMPLETE output with column lineage of a table, such as silver/customers."""
        found: list[Json] = [
            output
            for one in self.events
            for output in one["outputs"]
            if one["eventType"] == "COMPLETE"
            and output["name"].endswith(f"/Tables/{name}")
            and "columnLineage" in output.get("facets", {})
        ]
        assert found, f"no event carries column lineage of {name}"
        return found[-1]


@pytest.fixture(scope="module", params=["1.53.0", "1.27.0"])
def landed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Landed:
    """Run the pipeline once for each listener, against a Headwater of its own."""
    folder = tmp_path_factory.mktemp("listener")
    keys = json.dumps([{"name": "spark", "key": KEY, "roles": ["write", "read"]}])
    with Running(folder / "data", environment={"HEADWATER_KEYS": keys, "HEADWATER_TICK_S": "0.25"}) as running:
        run_pipeline(running.url, request.param, folder / "onelake")
        audit = when_caught_up(running.url, KEY)
    table = open_bronze(folder / "data").tables[EVENTS.name].query("SELECT body FROM t ORDER BY sequence")
    events = [json.loads(body) for body in table.column("body").to_pylist()]
    return Landed(request.param, audit, events)


def run_pipeline(url: str, listener: str, onelake: Path) -> None:
    """Run it as `make demo` does, and hold it to a clean end and a calm standard error."""
    command = [sys.executable, "-m", "demo.pipeline", "--url", url, "--listener", listener, "--lake", str(onelake)]
    done = subprocess.run(
        command,
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


def test_all_runs_belong_to_one_application_that_ends_well_although_jobs_failed(landed: Landed) -> None:
    last = landed.events[-1]
    parents = {one["run"]["facets"]["parent"]["run"]["runId"] for one in landed.events if one["job"] != last["job"]}
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


def test_masks_udf_and_case_are_told_apart(landed: Landed) -> None:
    fields = landed.output("silver/customers")["facets"]["columnLineage"]["fields"]
    assert ("customer_email", "DIRECT", "TRANSFORMATION", True) in sources(fields, "email_sha")
    assert ("customer_email", "DIRECT", "TRANSFORMATION", False) in sources(fields, "email_domain")
    assert ("country", "INDIRECT", "CONDITIONAL", False) in sources(fields, "region")


def test_an_address_is_readable_again_under_another_name(landed: Landed) -> None:
    fields = landed.output("platinum/mailing")["facets"]["columnLineage"]["fields"]
    assert sources(fields, "contact") == {("customer_email", "DIRECT", "IDENTITY", False)}


def test_a_window_is_indirect(landed: Landed) -> None:
    fields = landed.output("platinum/top_customers")["facets"]["columnLineage"]["fields"]
    assert ("spent", "INDIRECT", "WINDOW", False) in sources(fields, "place")


def sources(fields: Json, column: str) -> set[tuple[str, str, str, bool]]:
    """Return where a column comes from and how: (field, type, subtype, masking)."""
    return {
        (one["field"], how["type"], how["subtype"], how["masking"])
        for one in fields[column]["inputFields"]
        for how in one["transformations"]
    }
