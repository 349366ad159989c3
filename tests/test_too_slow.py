"""A record that takes too much CPU is rejected with its reason, and what stands beside it goes on."""

from pathlib import Path

import pytest

from headwater.errors import InvalidEvent
from headwater.events.cpu_budget import CpuBudget
from headwater.events.redaction import redact
from headwater.parser.bronze_batch import readable
from tests.lake_check import rows
from tests.made_events import body, run_event
from tests.parsing import World
from tests.planted import in_sql

SLOW = body(in_sql("-- " + "password=x1 and --token y2 " * 150_000))
"""4 MB, seconds of CPU; an ordinary event takes less than a thousandth of one."""


def test_a_slow_record_is_rejected_and_the_others_go_on(tmp_path: Path) -> None:
    world = World(tmp_path / "data", record_cpu_s=0.1)
    world.append(body(run_event()), SLOW, body(in_sql("SELECT 1 -- password=hunter2")))

    assert world.parser().step() == 3
    assert world.sequences("events") == [1, 3]
    (rejected,) = rows(world.folder, "rejected")
    assert (rejected["sequence"], rejected["reason"], rejected["body"]) == (2, "too_slow", "")
    assert "0.1 s of CPU" in rejected["message"]
    assert world.audit()["balanced"]


def test_what_is_many_short_texts_is_looked_at_too() -> None:
    budget = CpuBudget(1e-6)

    with pytest.raises(InvalidEvent, match="record_cpu_s"):
        redact([f"text {number}" for number in range(300)], budget.check)


def test_a_body_that_is_no_json_is_kept_without_secrets() -> None:
    assert readable(b'{"password": "hunter2"') == '{"password": "[REDACTED]"'
