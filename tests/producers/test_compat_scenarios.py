"""The official compatibility scenarios give the results that were counted by hand in their events."""

import json

import pytest

from tests.support.data.lineage_world import LineageWorld, recorded
from tests.support.data.samples import sample_lines

SIMPLE, COMPLETE, COPY = (
    f"compat-{name}.ndjson" for name in ("simple-run-event", "spark-dataproc-complete", "spark-dataproc-simple")
)
T1, T2 = "/user/hive/warehouse/t1", "/user/hive/warehouse/t2"


def lineage_of(*files: str) -> LineageWorld:
    return recorded(json.loads(line) for file in files for line in sample_lines(file))


def counts(lineage: LineageWorld) -> tuple[int, int, int, int, int]:
    """Return the number of runs, jobs, datasets, table edges and column edges."""
    found = (lineage.run_states, lineage.jobs, lineage.datasets, lineage.tables, lineage.edges)
    runs, jobs, datasets, tables, columns = map(len, found)
    return runs, jobs, datasets, tables, columns


# simple: one COMPLETE from one BigQuery table to another, without any facet.
#
# complete, 12 events: the application (START, COMPLETE), CREATE TABLE AS SELECT t2 (START, COMPLETE), DROP t1 (START,
# COMPLETE), DROP t2 and CREATE t1 (COMPLETE only), INSERT INTO t1 (START, RUNNING, RUNNING, COMPLETE): 6 runs. Both
# drops belong to one job `drop_table`, so there are 5 jobs. The only datasets are the outputs t1 and t2, which also
# have a Hive or warehouse symlink that is not a separate dataset. There are no inputs, so there are no edges.
#
# copy, 4 events of one run: INSERT INTO t2 SELECT a, b FROM t1. One table edge, and two columns that are copied
# unchanged.
#
# Both Dataproc files are one application: 6 + 1 runs, 5 + 1 jobs, and the same two tables.
@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ((SIMPLE,), (1, 1, 2, 1, 0)),
        ((COMPLETE,), (6, 5, 2, 0, 0)),
        ((COPY,), (1, 1, 2, 1, 2)),
        ((COMPLETE, COPY), (7, 6, 2, 1, 2)),
        ((SIMPLE, COMPLETE, COPY), (8, 7, 4, 2, 2)),
    ],
)
def test_hand_counted(files: tuple[str, ...], expected: tuple[int, ...]) -> None:
    assert counts(lineage_of(*files)) == expected
    assert counts(lineage_of(*files[::-1], *files)) == expected, "the order or repetition of events changes the counts"


def test_simple_an_opaque_edge_and_a_run_id_that_is_no_uuid() -> None:
    lineage = lineage_of(SIMPLE)
    assert lineage.tables == {("test.table.input", "test.table.output", "opaque")}
    assert lineage.run_states == {'["run_id","job_namespace","job_name"]': "COMPLETE"}
    assert lineage.rows_confirmed == {"test.table.output": False}, (
        "COMPLETE alone does not prove that rows were written"
    )


def test_complete_every_run_ended_and_what_was_dropped_was_made_again() -> None:
    lineage = lineage_of(COMPLETE)
    assert set(lineage.run_states.values()) == {"COMPLETE"}
    assert lineage.datasets == {T1, T2}
    assert lineage.dropped == set(), "t1 and t2 are dropped at :14 and created at :17 and :29"
    assert lineage.jobs == {
        "cl_i_test_application",
        "cl_i_test_application.drop_table",
        "cl_i_test_application.execute_create_table_command.warehouse_t1",
        "cl_i_test_application.execute_insert_into_hive_table.warehouse_t1",
        "cl_i_test_application.execute_create_hive_table_as_select_command.default_t2",
    }


def test_complete_as_of_the_drops_both_tables_are_gone() -> None:
    events = [json.loads(line) for line in sample_lines(COMPLETE)]
    lineage = recorded(event for event in events if event["eventTime"] < "2024-10-17T09:18:17")
    assert lineage.dropped == {T1, T2}


def test_complete_rows_landed_where_a_running_event_has_statistics() -> None:
    """The CTAS has no statistics. Its rows are proven by the INSERT in the other file."""
    assert lineage_of(COMPLETE).rows_confirmed == {T1: True, T2: False}
    assert lineage_of(COMPLETE, COPY).rows_confirmed == {T1: True, T2: True}


def test_copy_two_columns_as_they_are() -> None:
    lineage = lineage_of(COPY)
    assert lineage.tables == {(T1, T2, "columns")}
    assert lineage.edges == {(f"{T1}.a", f"{T2}.a", "direct"), (f"{T1}.b", f"{T2}.b", "direct")}


@pytest.mark.parametrize(
    "alias", [("hive://dataproc-producer-test-m:9083", "default.t1"), ("hive://dataproc-producer-test-m", "default.t1")]
)
def test_a_hive_name_is_its_location(alias: tuple[str, str]) -> None:
    lineage = lineage_of(COMPLETE, COPY)
    assert lineage.resolve(alias)[1] == T1
    assert lineage.impact((*lineage.resolve(alias), "a")) == {f"{T2}.a": (1, False)}
