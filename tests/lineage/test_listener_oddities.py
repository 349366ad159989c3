"""How Headwater handles 22 oddities in events of the Spark listener, mostly with recorded events.

The recording is from listener 1.53.0. `as_1_27_0` converts the events to the form of 1.27.0 where the difference
matters.
"""

import json
import re
from collections import Counter, defaultdict
from copy import deepcopy
from functools import cache
from typing import Any

import pytest

from tests.reference.small_events import CLEAR, A, B, C, made, run, with_schema, x_from
from tests.reference.world_events import Json, dataset, facet, parent, run_event, source, uuid
from tests.support.data.lineage_world import LineageWorld, as_recorded, recorded, world
from tests.support.data.samples import sample_lines

LAKE = "abfss://3f2a9c1e-0000-4000-8000-00000000aa01@onelake.dfs.fabric.microsoft.com"
TABLES = "3eb04867-0000-4000-8000-0000000000b1/Tables"
DAILY = (LAKE, f"{TABLES}/warehouse/goldlh.db/daily")
SAVE, MERGE, RDD = "execute_save_into_data_source_command", "execute_merge_into_command", "scan_existing_rdd"


@cache
def recording() -> tuple[Json, ...]:
    return tuple(json.loads(line) for line in sample_lines("spark-3.5.7-listener-1.53.0.ndjson"))


def events_of(pattern: str) -> list[Json]:
    """Return the recorded events of all jobs whose complete name matches."""
    found = [event for event in recording() if re.fullmatch(pattern, event["job"]["name"])]
    assert found, f"no recorded job matches {pattern}"
    return found


def lineage_of(*patterns: str) -> LineageWorld:
    return recorded(event for pattern in patterns for event in events_of(pattern))


def table(name: str) -> tuple[str, str]:
    return LAKE, f"{TABLES}/{name}"


def as_1_27_0(value: Any) -> Any:
    """Return events in the form of 1.27.0: names on abfss begin with a slash, also in column lineage."""
    if isinstance(value, list):
        return [as_1_27_0(each) for each in value]
    if not isinstance(value, dict):
        return value
    told = {key: as_1_27_0(each) for key, each in value.items()}
    if str(told.get("namespace")).startswith("abfss:") and "type" not in told:
        told["name"] = "/" + told["name"]
    return told


def without(event: Json, *sides: str) -> Json:
    return event | {side: [] for side in sides}


def test_pitfall_01_a_leading_slash_makes_no_second_table() -> None:
    newer = events_of("nb_medallion.*")
    older = as_1_27_0(newer)
    one, other, mixed = recorded(newer), recorded(older), recorded(older[::2] + newer[1::2])
    assert len(one.edges) > 80
    assert one.column_edges == other.column_edges == mixed.column_edges
    assert one.table_edges == other.table_edges == mixed.table_edges


@pytest.mark.parametrize(
    ("statement", "sources"),
    [
        ("silver_customers", {"bronze/customers"}),
        ("top_customers", {"silver/orders", "silver/customers"}),
    ],
)
@pytest.mark.parametrize("listener", ["1.53.0", "1.27.0"])
def test_pitfall_02_the_sources_of_a_merge_are_in_its_column_lineage(
    statement: str, sources: set[str], listener: str
) -> None:
    events = events_of(rf"nb_medallion\.{MERGE}\.{statement}")
    assert not any(source in json.dumps(event["inputs"]) for event in events for source in sources)
    if listener == "1.27.0":
        events = as_1_27_0([without(event, "inputs") for event in events])
    tables = recorded(events).tables
    (target,) = {output for _, output, _ in tables}
    assert tables == {(source, target, "columns") for source in {*sources, target}}


def test_pitfall_03_a_column_that_a_merge_masks_and_does_not_report_is_unknown() -> None:
    lineage = lineage_of(rf"nb_medallion\.{MERGE}\.silver_customers")
    found = lineage.surface((*table("bronze/customers"), "name"))
    assert found == {"silver/customers.name": "exposed", "silver/customers.email_sha": "unknown"}


def test_pitfall_03_another_writer_that_names_the_column_does_not_say_what_the_merge_writes_there() -> None:
    lineage = lineage_of(rf"nb_medallion\.({MERGE}|{SAVE})\.silver_customers")
    found = lineage.surface((*table("bronze/customers"), "customer_email"))
    assert {column for column, exposure in found.items() if exposure == "unknown"} == {"silver/customers.email_sha"}


@pytest.mark.parametrize(
    ("failed", "output"),
    [
        (r"nb_fail2\.execute_insert_into_hadoop_fs_relation_command\.Files_failpq", "failpq"),
        (rf"nb_fail\.{SAVE}\.silver_failing", "silver/failing"),
        (rf"nb_fail\.{SAVE}\.silver_exists", "silver/exists"),
    ],
)
def test_pitfall_04_complete_is_the_state_of_failed_writes_and_proves_no_rows(failed: str, output: str) -> None:
    lineage = lineage_of(failed)
    assert set(lineage.states) == {"COMPLETE"}
    assert lineage.rows_confirmed == {output: False}


def test_pitfall_04_only_the_rdd_job_fails_and_the_application_is_complete() -> None:
    lineage = lineage_of("nb_fail2.*")
    assert Counter(lineage.states) == {"COMPLETE": 6, "FAIL": 1}
    assert lineage_of("nb_fail2").states == ["COMPLETE"]


def test_pitfall_05_runs_without_start_count_runs_without_end_do_not() -> None:
    kinds = defaultdict(set)
    for event in recording():
        kinds[event["run"]["runId"]].add(event["eventType"])
    lineage = recorded(recording())
    assert Counter(lineage.run_states[run_id] for run_id, seen in kinds.items() if seen == {"COMPLETE"}) == {
        "COMPLETE": 11
    }
    assert Counter(lineage.run_states[run_id] for run_id, seen in kinds.items() if seen == {"START"}) == {"RUNNING": 33}
    assert lineage_of(r"nb_medallion\.create_table\.goldlh_ext_rev").rows_confirmed == {"gold/revenue": True}
    only_start = [event for event in events_of(rf"nb_mini\.{SAVE}\.silver_customers") if event["eventType"] == "START"]
    assert recorded(only_start).edges == set()


def test_pitfall_06_replace_table_as_select_has_columns_in_neither_run_of_1_53_0() -> None:
    lineage = lineage_of(r"nb_medallion\.(atomic_replace_table_as_select|overwrite_by_expression).*top_customers")
    target = "warehouse/goldlh.db/top_customers"
    assert (lineage.edges, lineage.tables) == (set(), {("silver/orders", target, "opaque")})
    assert lineage.surface((*table("silver/orders"), "amount")) == {
        f"{target}.{column}": "unknown" for column in ("customer_id", "rev", "rk")
    }


def test_pitfall_06_the_run_beside_it_explains_it_where_it_has_the_columns() -> None:
    session = {"parent": parent(uuid(9), ("jobs", "nb"))}
    created = run(1, 1, with_schema(B, "x"), job="nb.atomic_replace_table_as_select.b", run_facets=session)
    copied = made(B, {"x": [source(A, "x", CLEAR)]})
    written = run(2, 2, copied, job="nb.overwrite_by_expression_exec_v1.b", run_facets=session)
    opaque = created | {"inputs": [with_schema(A, "x y")]}
    lineage = world(opaque, written)
    assert lineage.tables == {("a", "b", "columns")}
    assert lineage.unused(A) == {"x": "used", "y": "unused"}
    assert lineage.surface((*A, "x")) == {"b.x": "exposed"}


@pytest.mark.parametrize("statement", ["update", "delete", "optimize_table", "vacuum_table"])
def test_pitfall_07_statements_without_datasets_change_nothing(statement: str) -> None:
    wordless = events_of(rf"nb_medallion\.execute_{statement}_command")
    saved = events_of(rf"nb_medallion\.{SAVE}\..*")
    with_it, without_it = recorded([*saved, *wordless]), recorded(saved)
    assert (with_it.edges, with_it.tables) == (without_it.edges, without_it.tables)
    assert len(with_it.states) == len(without_it.states) + 1


def test_pitfall_07_alter_has_an_output_and_keeps_what_was() -> None:
    lineage = lineage_of(r"nb_medallion\.overwrite_by_expression_exec_v1.*_daily", r"nb_medallion\.alter_table.*")
    assert ("silver/orders.amount", "warehouse/goldlh.db/daily.amount", "direct") in lineage.edges
    assert list(lineage.unused(DAILY)) == ["order_date", "amount", "extra"]


def test_pitfall_08_deltas_own_scans_are_runs_and_nothing_else() -> None:
    lineage = lineage_of(
        r"nb_\w+\.(scan_(csv|json)|collect_limit|generate|map_in_pandas)", r".*delta_(source_snapshot|table_state)_.*"
    )
    assert len(lineage.states) > 20
    assert (lineage.edges, lineage.tables, lineage.rows_confirmed) == (set(), set(), {})
    assert not any("_delta_log" in name for name in recorded(recording()).datasets)


def test_pitfall_09_an_rdd_job_that_names_its_input_as_output_is_no_writer() -> None:
    lineage = lineage_of(rf"nb_medallion\.{RDD}")
    assert lineage.datasets == {"bronze/orders"}
    assert (lineage.tables, lineage.rows_confirmed, lineage.scene.ever_read) == (set(), {}, set())


def test_pitfall_09_nor_is_one_of_1_27_0_that_only_read_a_footer() -> None:
    footer = dataset(table("bronze/orders"))
    loop = run(1, 1, footer, reads=[footer], job="nb.map_partitions_parallel_collection")
    reader = run(2, 2, x_from(table("bronze/orders"), B), job="nb.save.b")
    assert world(loop, reader).tables == {("bronze/orders", "b", "columns")}


def test_pitfall_10_partitions_are_their_table() -> None:
    days = [dataset(table(f"silver/orders/order_date=2026-02-{day:02}")) for day in range(1, 29)]
    subset = [dataset(table("silver/orders")) | {"inputFacets": {"subset": facet(inputCondition={})}}]
    told = [world(run(1, 1, dataset(B), reads=as_1_27_0(reads))).tables for reads in (days, subset)]
    assert told == [{("silver/orders", "b", "opaque")}] * 2


def test_pitfall_11_the_files_of_a_stream_are_one_dataset_and_its_double_runs_one_writer() -> None:
    lineage = lineage_of(r"nb_streaming\.project")
    columns = ["order_id", "customer_id", "amount", "product_id", "order_date"]
    plain = {(f"landing/stream_in.{column}", f"bronze/stream_orders.{column}", "direct") for column in columns}
    assert len(lineage.states) == 16, "two applications and four batches, each reported by two runs"
    assert lineage.edges == plain | {("landing/stream_in.customer_id", "bronze/stream_orders.h", "masked")}
    assert lineage.rows_confirmed == {"bronze/stream_orders": True}


def test_pitfall_11_a_stream_of_1_27_0_reads_and_nobody_knows_what_for() -> None:
    stream = as_1_27_0([without(event, "outputs") for event in events_of(r"nb_streaming\.project")])
    lineage = recorded(stream)
    assert lineage.tables == set()
    assert set(lineage.unused((LAKE, f"{TABLES[:-7]}/Files/landing/stream_in")).values()) == {"unknown"}


def test_pitfall_12_a_dataset_without_facets_is_one_with_none() -> None:
    bare = [each for event in recording() for side in ("inputs", "outputs") for each in event[side]]
    assert sum("facets" not in each for each in bare) == 25
    filled = deepcopy(list(recording()))
    for event in filled:
        for each in event["inputs"] + event["outputs"]:
            each.setdefault("facets", {})
    one, other = recorded(recording()), recorded(filled)
    assert (one.edges, one.tables, one.rows_confirmed) == (other.edges, other.tables, other.rows_confirmed)


def test_pitfall_13_inputs_sent_twice_and_in_another_order_are_the_same() -> None:
    (event,) = [one for one in events_of(rf"nb_medallion\.{SAVE}\.gold_revenue") if one["eventType"] == "COMPLETE"]
    twice = event | {"inputs": event["inputs"][::-1] + event["inputs"]}
    assert len(event["inputs"]) == 3
    assert recorded([twice]).table_edges == recorded([event]).table_edges
    assert recorded([twice]).column_edges == recorded([event]).column_edges


def test_pitfall_14_a_catalog_tables_name_is_bound_to_its_place_others_have_one_name() -> None:
    lineage = lineage_of(r"nb_medallion\..*")
    name = (f"{LAKE}/{TABLES}/warehouse", "goldlh.daily")
    assert tuple(lineage.resolve(name)) == DAILY
    bound = {str(location.name) for moments in lineage.scene.naming.bindings.values() for _, location in moments}
    assert {location.removeprefix(f"{TABLES}/warehouse/goldlh.db/") for location in bound} == {
        "daily",
        "daily_copy",
        "top_customers",
    }


def test_pitfall_15_a_version_confirms_catalog_tables_a_write_to_a_path_stays_unconfirmed() -> None:
    assert lineage_of(r"nb_medallion\.atomic_replace_table.*").rows_confirmed == {
        f"warehouse/goldlh.db/{name}": True for name in ("daily", "daily_copy", "top_customers")
    }
    assert lineage_of(rf"nb_medallion\.{SAVE}\.gold_revenue").rows_confirmed == {"gold/revenue": False}


def test_pitfall_16_a_run_without_datasets_is_a_run() -> None:
    lineage = lineage_of(rf"\w+\.{SAVE}\.silver_weird näme \(1\)")
    assert lineage.states == ["COMPLETE"] * 3
    assert lineage.datasets == set()
    assert {job.rpartition(".")[2] for job in lineage.jobs} == {"silver_weird näme (1)"}


@pytest.mark.parametrize("target", ["mapinpandas", "via_rdd"])
def test_pitfall_17_no_column_lineage_is_not_no_lineage(target: str) -> None:
    lineage = lineage_of(rf"nb_medallion\.{SAVE}\.(silver_{target}|bronze_orders)")
    assert ("bronze/orders", f"silver/{target}", "opaque") in lineage.tables
    verdicts = lineage.unused(table("bronze/orders"))
    verdicts.pop("order_date")  # some readers name a partition by this column, which counts as use (4.11)
    assert set(verdicts.values()) == {"unknown"}
    found = lineage.surface((*table("bronze/orders"), "customer_id"))
    assert found
    assert set(found.values()) == {"unknown"}


def test_pitfall_18_children_find_their_parent_by_run_id_whatever_it_is_called() -> None:
    application = run_event("COMPLETE", "2026-03-01T12:00:09Z", uuid(9), ("jobs", "My App"))
    called = [{"parent": parent(uuid(9), ("jobs", name))} for name in ("nb_spark_app_name", "my_app")]
    appends = [run(n, n, x_from(origin, C), run_facets=called[n - 1]) for n, origin in ((1, A), (2, B))]
    lineage = world(application, *appends)
    assert {one.execution for one in lineage.scene.store.runs.values()} == {uuid(9)}
    assert lineage.edges == {("a.x", "c.x", "direct"), ("b.x", "c.x", "direct")}


def test_pitfall_19_a_runs_tags_say_nothing_about_datasets() -> None:
    tags = {"tags": facet(tags=[{"key": "pii", "value": "true", "source": "CONFIG"}])}
    tagged, plain = (world(run(1, 1, x_from(A, B), run_facets=facets)) for facets in (tags, {}))
    assert tagged.edges == plain.edges
    assert [mention.tags for fact in tagged.parts for mention in fact.outputs] == [None]


def test_pitfall_20_notebooks_of_one_session_are_told_apart_by_what_they_write() -> None:
    lineage = lineage_of(r"nb_multi\..*")
    parents = {fact.execution for fact in lineage.parts}
    writers = {
        group.job.name: said.output for group, said in lineage.graph.edge_sets.values() if "nb_" in str(said.output)
    }
    assert len(parents) == 1
    assert {job.rpartition(".")[2] for job in writers} >= {"silver_nb_B", "silver_nb_C"}
    for target in ("nb_B", "nb_C"):
        assert ("landing/products_parquet", f"silver/{target}", "columns") in lineage.tables
    assert not any({"silver/nb_B", "silver/nb_C"} == set(edge[:2]) for edge in lineage.tables)


def test_pitfall_21_times_are_instants_however_many_digits_they_have() -> None:
    assert {len(event["eventTime"]) for event in recording()} == {20, 22, 23, 24}
    for earlier, later in (
        ("2026-03-01T12:00:01Z", "2026-03-01T12:00:01.1Z"),
        ("2026-03-01T12:00:01.1Z", "2026-03-01T12:00:01.15Z"),
    ):
        assert earlier > later, "the comparison as text gives the wrong order"
        ends = [run(1, 0, kind="COMPLETE") | {"eventTime": earlier}, run(1, 0, kind="FAIL") | {"eventTime": later}]
        assert world(*ends).states == world(*ends[::-1]).states == ["FAIL"]


def test_pitfall_22_the_listener_repeats_nothing_a_transport_that_does_changes_nothing() -> None:
    delivered = as_recorded(recording())
    assert len({each.event_id for each in delivered}) == len(delivered) == 314
    once, twice = LineageWorld(delivered), LineageWorld(delivered + delivered[::-1])
    assert (once.edges, once.tables, once.run_states) == (twice.edges, twice.tables, twice.run_states)
