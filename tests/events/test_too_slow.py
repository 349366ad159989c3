"""A record that needs too much CPU time is rejected with its reason, and the records around it are stored."""

from functools import partial
from pathlib import Path

import pytest

from headwater.common.errors import InvalidEvent
from headwater.events.cpu_budget import CpuBudget
from headwater.events.redaction import redact_value
from headwater.intake.parser.bronze_batch import rejected_body_text
from tests.support.data.made_events import body, run_event
from tests.support.data.parsing import World, crash
from tests.support.data.planted_secrets import in_sql
from tests.support.lake_check import rows

SLOW = body(in_sql("-- " + "password=x1 and --token y2 " * 150_000))
"""4 MB that take seconds of CPU time. An ordinary event takes less than a millisecond."""


def test_a_slow_record_is_rejected_and_the_others_go_on(tmp_path: Path) -> None:
    world = World(tmp_path / "data", record_cpu_s=0.1)
    world.append(body(run_event()), SLOW, body(in_sql("SELECT 1 -- password=hunter2")))

    assert world.parser().commit_next() == 3
    assert world.sequences("events") == [1, 3]
    (rejected,) = rows(world.folder, "rejected")
    assert (rejected["sequence"], rejected["reason"], rejected["body"]) == (2, "too_slow", "")
    assert "0.1 s of CPU" in rejected["message"]
    assert world.audit()["balanced"]


@pytest.mark.parametrize("is_first_patient", [True, False])
def test_of_two_parsers_who_moves_the_watermark_decides_what_was_too_slow(
    tmp_path: Path, *, is_first_patient: bool
) -> None:
    patient, hurried = World(tmp_path), World(tmp_path, record_cpu_s=1e-9)
    first, later = (patient, hurried) if is_first_patient else (hurried, patient)
    patient.append(*(body(run_event(outputs=[{"namespace": "n", "name": name}])) for name in ("a", "b")))
    reader = later.overtaken()
    parser = later.parser(reader)
    reader.rival = first.parser().commit_next
    parser.commit_next()
    assert patient.placed() == [1, 2]
    assert patient.sequences("events") == ([1, 2] if is_first_patient else [])
    assert patient.audit()["balanced"]


def test_an_event_that_was_too_slow_for_a_parser_that_was_killed_is_whole_from_another(tmp_path: Path) -> None:
    patient, hurried = World(tmp_path), World(tmp_path, record_cpu_s=1e-9)
    patient.append(body(run_event()))
    reader = patient.overtaken()
    parser = patient.parser(reader)
    parser.commit_next()
    other_shape = {"namespace": "tests", "name": "job", "facets": {"sql": {"query": "SELECT 1"}}}
    patient.append(body(run_event(outputs=[{"namespace": "n", "name": "a"}])), body(run_event(job=other_shape)))
    reader.rival = partial(crash, hurried, "parser.after_shapes")
    parser.commit_next()
    assert (patient.placed(), patient.sequences("rejected")) == ([1, 2, 2, 3], [2])
    patient.parser().commit_next()
    assert patient.placed() == patient.sequences("events") == [1, 2, 3]
    shapes = {row["shape"] for row in rows(patient.folder, "shapes")}
    assert {row["shape"] for row in rows(patient.folder, "events")} == shapes
    assert patient.audit()["balanced"]


def test_what_is_many_short_texts_is_looked_at_too() -> None:
    budget = CpuBudget(1e-6)

    with pytest.raises(InvalidEvent, match="record_cpu_s"):
        redact_value([f"text {number}" for number in range(300)], budget.check)


def test_a_body_that_is_no_json_is_kept_without_secrets() -> None:
    assert rejected_body_text(b'{"password": "hunter2"') == '{"password": "[REDACTED]"'
