"""Rule 6.7: check the table in `docs/reference/lineage.md` of writes that replace all rows, line by line."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from headwater.lineage.edges.write_kinds import (
    ADDS_ROWS,
    WHOLE_REWRITE,
    WHOLE_UNLESS_PARTITIONED,
    CompletedWrite,
    is_whole_rewrite,
    write_kind,
)
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.name_resolution import NameResolver
from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.rules.user_rules_text import read_rewrites
from headwater.lineage.runs.run_facts import RunFacts
from headwater.lineage.runs.write_properties import nominal_time_us, read_write_signs
from headwater.lineage.sql.write_signs import find_write_signs
from headwater.spark.silver.derivation_context import DerivationContext
from headwater.spark.silver.spark_derivation import DERIVED, DerivePartition
from headwater.spark.silver.texts import json_text
from tests.reference.world_events import START_US, Json, at, deliver, facet, uuid
from tests.rule_cases.events import LAKE, changes, done, table
from tests.support.data.lineage_world import read_facts

T = Name("s3://lake", "t")


def kind(job: str, lifecycle: str | None, sql: str = "", **more: bool) -> int:
    return write_kind(CompletedWrite(job, T, lifecycle, find_write_signs(sql, "spark"), **more))


@pytest.mark.parametrize(
    ("job", "lifecycle", "sql", "expected"),
    [
        ("app.overwrite_by_expression_exec_v1.t", "OVERWRITE", "insert overwrite t select 1", WHOLE_UNLESS_PARTITIONED),
        ("app.execute_insert_into_hadoop_fs_relation_command.t", "OVERWRITE", "", WHOLE_UNLESS_PARTITIONED),
        ("app.execute_save_into_data_source_command.t", "OVERWRITE", "", WHOLE_UNLESS_PARTITIONED),
        ("app.execute_save_into_data_source_command.t", "CREATE", "", ADDS_ROWS),
        ("app.truncate_table.t", "TRUNCATE", "", WHOLE_UNLESS_PARTITIONED),
        ("app.truncate_table.t", "TRUNCATE", "TRUNCATE TABLE t", WHOLE_REWRITE),
        ("app.truncate_table.t", "TRUNCATE", "TRUNCATE TABLE t PARTITION (d = 1)", ADDS_ROWS),
        ("app.atomic_replace_table_as_select.t", "OVERWRITE", "", WHOLE_REWRITE),
        ("app.atomic_replace_table.t", "OVERWRITE", "", WHOLE_REWRITE),
        ("app.atomic_create_table_as_select.t", "CREATE", "CREATE TABLE t AS SELECT 1", WHOLE_REWRITE),
        ("app.atomic_create_table_as_select.t", "CREATE", "CREATE TABLE IF NOT EXISTS t AS SELECT 1", ADDS_ROWS),
        ("app.execute_create_data_source_table_as_select_command.t", "CREATE", "", ADDS_ROWS),
        ("app.execute_create_hive_table_as_select_command.t", "CREATE", "", ADDS_ROWS),
        ("app.create_table.t", "CREATE", "CREATE TABLE IF NOT EXISTS t (x INT)", ADDS_ROWS),
        ("app.replace_iceberg_data.t", "OVERWRITE", "", ADDS_ROWS),
        ("app.write_delta.t", "OVERWRITE", "", ADDS_ROWS),
        ("app.execute_merge_into_command.t", "OVERWRITE", "", ADDS_ROWS),
        ("app.overwrite_partitions_dynamic_exec.t", "OVERWRITE", "", ADDS_ROWS),
        ("load", "OVERWRITE", "MERGE INTO t USING s ON t.k = s.k WHEN MATCHED THEN UPDATE SET x = 1", ADDS_ROWS),
        ("load", "OVERWRITE", "UPDATE t SET x = 1", ADDS_ROWS),
        ("load", "OVERWRITE", "INSERT OVERWRITE TABLE t PARTITION (d) SELECT 1", ADDS_ROWS),
        ("load", "OVERWRITE", "INSERT INTO t REPLACE WHERE d = 1 SELECT 1", ADDS_ROWS),
        ("load", "OVERWRITE", "INSERT OVERWRITE t SELECT * FROM s WHERE d = 1", WHOLE_UNLESS_PARTITIONED),
        ("load", "OVERWRITE", "DELETE FROM t WHERE {{ this", ADDS_ROWS),
        ("load", None, "DELETE FROM t WHERE {{ this", ADDS_ROWS),
        ("load", None, "DELETE FROM t", WHOLE_REWRITE),
        ("load", None, "DELETE FROM t; INSERT INTO t SELECT 1", WHOLE_REWRITE),
        ("load", None, "DELETE FROM t WHERE x = 1", ADDS_ROWS),
        ("load", None, "TRUNCATE TABLE stage; INSERT INTO t SELECT 1", ADDS_ROWS),
        ("load", None, "CREATE OR REPLACE TABLE t PARTITIONED BY (d) AS SELECT 1 AS d", WHOLE_REWRITE),
        ("load", None, "CREATE OR REPLACE VIEW t AS SELECT 1", ADDS_ROWS),
        ("load", None, "", ADDS_ROWS),
    ],
)
def test_a_line_of_the_table(job: str, lifecycle: str | None, sql: str, expected: int) -> None:
    assert kind(job, lifecycle, sql) == expected


def test_signs_that_outweigh_a_rewrite() -> None:
    assert kind("app.atomic_replace_table.t", "OVERWRITE", has_failed=True) == ADDS_ROWS
    assert kind("app.atomic_replace_table.t", "OVERWRITE", is_part=True) == ADDS_ROWS
    assert kind("load", None, "TRUNCATE TABLE t", is_only_output=False) == ADDS_ROWS


@pytest.mark.parametrize(
    ("namespace", "expected"),
    [
        ("abfss://a@b", WHOLE_UNLESS_PARTITIONED),
        ("file", WHOLE_UNLESS_PARTITIONED),
        ("postgres://db:5432", WHOLE_UNLESS_PARTITIONED),
        ("snowflake://acme", ADDS_ROWS),
        ("kafka://broker:9092", ADDS_ROWS),
        ("bigquery", ADDS_ROWS),
    ],
)
def test_a_connector_of_its_own_reports_overwrite_of_appends(namespace: str, expected: int) -> None:
    output = Name(namespace, "t")
    assert write_kind(CompletedWrite("app.execute_save_into_data_source_command.t", output, "OVERWRITE")) == expected


def test_a_dataset_that_is_known_by_its_parts_is_not_rewritten_by_an_overwrite() -> None:
    assert [
        is_whole_rewrite(each, has_parts=True) for each in (ADDS_ROWS, WHOLE_UNLESS_PARTITIONED, WHOLE_REWRITE)
    ] == [False, False, True]
    assert [
        is_whole_rewrite(each, has_parts=False) for each in (ADDS_ROWS, WHOLE_UNLESS_PARTITIONED, WHOLE_REWRITE)
    ] == [False, True, True]


@pytest.mark.parametrize(
    ("facets", "signs"),
    [
        ({"spark_properties": {"properties": {"spark.sql.sources.partitionOverwriteMode": "DYNAMIC"}}}, ("part",)),
        ({"spark_properties": {"properties": {"spark.sql.sources.partitionOverwriteMode": "static"}}}, ()),
        ({"dbt_node": {"materialized": "table"}}, ("materialized",)),
        ({"dbt_node": {"config": {"materialized": "view"}}}, ("materialized",)),
        ({"dbt_node": {"materialized": "incremental"}}, ()),
        ({"dbt_node": {"materialized": "incremental"}, "dbt_run": {"full_refresh": True}}, ("materialized",)),
        ({"other": {"materialized": "table"}}, ()),
    ],
)
def test_facets_of_a_run_show_how_it_writes(facets: dict[str, object], signs: tuple[str, ...]) -> None:
    assert read_write_signs(json.dumps(facets)) == signs


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"nominalStartTime": "1970-01-01T00:00:01Z"}, 1_000_000),
        ({"nominalStartTime": "1970-01-01T00:00:01Z", "nominalEndTime": "1970-01-01T00:00:02Z"}, 2_000_000),
        ({"nominalStartTime": "1970-01-01T00:00:01Z", "nominalEndTime": "soon"}, 1_000_000),
        ({"nominalEndTime": 7}, None),
        ({}, None),
        ([], None),
    ],
)
def test_the_nominal_time_of_a_run(told: object, expected: int | None) -> None:
    assert nominal_time_us(json.dumps({"nominalTime": told})) == expected


def test_an_event_says_which_outputs_it_writes_in_part() -> None:
    subset = changes("c", "OVERWRITE") | {"outputFacets": {"subset": facet(outputCondition={})}}
    outputs = [changes("a/day=1", "OVERWRITE"), changes("b", "OVERWRITE"), subset]
    (fact,), _ = read_facts(deliver([done(1, 1, *outputs, of="a/day=2 b")]))
    assert [use.is_part for use in fact.outputs] == [True, False, True]
    assert [use.is_part for use in fact.inputs] == [True, False]


@pytest.mark.parametrize(
    ("rule", "says", "kinds"),
    [
        ("", "", (False, False)),
        ("job: load, writes: whole", "", (True, False)),
        ("", "OVERWRITE", (True, True)),
        ("dataset: t, writes: append", "OVERWRITE", (False, False)),
        (f"run: {uuid(1).upper()}, writes: append", "OVERWRITE", (False, False)),
        (f"run: {uuid(2)}, writes: append", "OVERWRITE", (True, True)),
    ],
)
def test_silver_notes_writes_as_users_declare_them(rule: str, says: str, kinds: tuple[bool, bool]) -> None:
    facts, _ = read_facts(deliver([done(1, 1, changes("t", says) if says else table("t"), job="load")]))
    rules = UserRules(rewrites=read_rewrites(f"version: 1\nrewrites: [{{{rule}}}]", "rewrites.yaml") if rule else ())
    candidate = derived_candidate(facts, rules)
    assert (candidate["rewrites"], candidate["unless_parts"]) == kinds


@pytest.mark.parametrize(
    ("own", "period"), [({}, 7), ({"nominalTime": facet(nominalEndTime=at(5))}, START_US + 5_000_000)]
)
def test_silver_takes_the_nominal_time_of_a_run_above(own: dict[str, Json], period: int) -> None:
    facts, _ = read_facts(deliver([done(1, 10, table("t"), of="s", run_facets=own)]))
    assert derived_candidate(facts, UserRules(), above_us=7)["period_us"] == period


@pytest.mark.parametrize(
    ("is_whole", "rule", "kinds"),
    [
        (False, "", (False, False)),
        (True, "", (True, False)),
        (False, "dataset: t, writes: whole", (True, False)),
    ],
)
def test_silver_notes_writes_as_commits_prove_them(is_whole: bool, rule: str, kinds: tuple[bool, bool]) -> None:
    facts, _ = read_facts(deliver([done(1, 1, changes("t", "OVERWRITE"), job="load")]))
    rules = UserRules(rewrites=read_rewrites(f"version: 1\nrewrites: [{{{rule}}}]", "rewrites.yaml") if rule else ())
    proof = {"run_id": uuid(1), "dataset_namespace": LAKE, "dataset_name": "t", "is_whole": is_whole}
    candidate = derived_candidate(facts, rules, proofs=json.dumps([proof]))
    assert (candidate["rewrites"], candidate["unless_parts"]) == kinds


def derived_candidate(
    facts: Sequence[RunFacts], rules: UserRules, above_us: int | None = None, proofs: str | None = None
) -> dict[str, Any]:
    row = (0, None, None, facts[0].run_key, json_text(facts), "", None, above_us, proofs)
    (derived,) = DerivePartition(DerivationContext(NameResolver(), rules=rules))(iter([row]))
    (candidate,) = dict(zip(DERIVED.columns, derived, strict=True))["changes"]
    found: dict[str, Any] = candidate
    return found
