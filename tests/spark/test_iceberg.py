"""Tables of Iceberg under Spark's real listener, two versions of it: edges and facets worked out by hand."""

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import pytest

from headwater.cli.answer_source import DataFolder
from headwater.questions import definitions
from tests.support.data.lineage_world import recorded
from tests.support.spark.connector_session import LISTENERS, NEWEST, Connected

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

DIRECT, MASKED, INDIRECT = "direct", "masked", "indirect"


@pytest.fixture(scope="module", params=LISTENERS)
def session(request: pytest.FixtureRequest, connectors: Callable[[str], Connected]) -> Connected:
    return connectors(request.param)


def edges(session: Connected, name: str) -> set[tuple[str, str, str]]:
    """Return the column edges of a step, without the folder of the catalog."""
    folder = f"{session.folder}/"
    found = recorded(session.of(name)).edges
    return {(one.removeprefix(folder).removeprefix("ice/db/"), two.removeprefix(folder).removeprefix("ice/db/"), how)
            for one, two, how in found}  # fmt: skip


def table(session: Connected, name: str) -> tuple[str, str]:
    return session.file(f"ice/db/{name}")


def written(session: Connected, step: str, name: str) -> dict[str, Any]:
    """Return the facets of a table that a step writes, and nothing else."""
    found = session.datasets(step, "outputs")
    assert table(session, name) in found
    return found[table(session, name)]


def test_an_append_is_an_edge_for_each_column_and_says_its_snapshot(session: Connected) -> None:
    assert written(session, "create", "orders")["lifecycleStateChange"]["lifecycleStateChange"] == "CREATE"
    facets = written(session, "append", "orders")
    assert int(facets["version"]["datasetVersion"]) > 0
    assert facets["symlinks"]["identifiers"][0]["name"] == "db.orders"
    wanted = {(f"landing.{one}", f"orders.{one}", DIRECT) for one in ("id", "email", "amount")}
    assert edges(session, "append") == wanted


def test_create_table_as_select_and_replace_are_what_the_newest_select_reads(session: Connected) -> None:
    same = {("orders.id", "totals.id", DIRECT), ("orders.amount", "totals.total", DIRECT)}
    assert edges(session, "ctas") == same | {("orders.email", "totals.hash", DIRECT)}
    assert edges(session, "replace") == same | {("orders.email", "totals.hash", MASKED)}
    both = recorded([*session.of("ctas"), *session.of("replace")])
    assert {how for _, two, how in both.edges if two.endswith("totals.hash")} >= {MASKED}
    assert {alone for *_, alone in both.tables} == {"columns"}
    assert written(session, "replace", "totals")["lifecycleStateChange"]["lifecycleStateChange"] == "OVERWRITE"


def test_a_merge_keeps_what_was_there_and_takes_from_the_source_by_its_keys(session: Connected) -> None:
    columns = ("id", "hash", "total")
    kept = {(f"totals.{one}", f"totals.{one}", DIRECT) for one in columns}
    taken = {
        ("orders.id", "totals.id", DIRECT),
        ("orders.email", "totals.hash", MASKED),
        ("orders.amount", "totals.total", DIRECT),
    }
    if version("pyspark").startswith("4."):  # of what is inserted the listener loses where it comes from
        taken = set()
    by = {(key, f"totals.{one}", INDIRECT) for key in ("orders.id", "totals.id", "totals._file") for one in columns}
    assert edges(session, "merge") == kept | taken | by


def test_columns_that_a_merge_reads_beside_the_tables_own_are_not_its_columns(session: Connected) -> None:
    assert set(recorded(session.of("merge")).unused(table(session, "totals"))) == {"id", "hash", "total"}


def test_a_branch_is_the_table(session: Connected) -> None:
    wanted = {(f"landing.{one}", f"orders.{one}", DIRECT) for one in ("id", "email", "amount")}
    assert edges(session, "branch is written") == wanted
    assert edges(session, "branch is read") == {("orders.email", "out_branch.email", DIRECT)}
    assert list(session.datasets("branch", "outputs")) == []


def test_the_version_of_a_branch_is_that_of_main_as_listeners_send_it(session: Connected) -> None:
    before, after = (written(session, step, "orders")["version"] for step in ("append", "branch is written"))
    assert before["datasetVersion"] == after["datasetVersion"]


def test_what_is_read_of_metadata_is_no_schema_of_the_table(session: Connected) -> None:
    [facets] = session.datasets("metadata is read", "inputs").values()
    assert "committed_at" in [field["name"] for field in facets["schema"]["fields"]]
    namespace, name = table(session, "orders")
    items = DataFolder(session.data).ask(definitions.unused, {"namespace": namespace, "dataset": name})["items"]
    assert {item["column"] for item in items} == {"id", "email", "amount"}


def test_a_rename_is_told_by_no_listener(session: Connected) -> None:
    assert all(not event["inputs"] and not event["outputs"] for event in session.of("rename"))
    names_tables_of_any_catalog = session.listener != NEWEST
    assert bool(recorded(session.of("renamed is read")).edges) == names_tables_of_any_catalog


def test_a_drop_ends_it(session: Connected) -> None:
    steps = ("create", "append", "ctas", "replace", "merge", "drop")
    world = recorded([event for step in steps for event in session.of(step)])
    assert world.dropped == {table(session, "totals")[1]}
