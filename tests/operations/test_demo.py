"""`headwater demo`: the content of its recording, and what it displays."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from demo.recording.build import recording
from headwater.common.errors import WrongSetting
from headwater.operations.demo.recording import EVENTS, event_time, read_recording, recording_until, shift_times
from headwater.operations.demo.replay import demo_settings, prepare_demo
from tests.support.running import headwater

END = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_the_recording_is_what_the_captured_executions_and_the_schedule_make() -> None:
    assert read_recording() == list(recording())
    assert len((files("headwater.operations.demo") / EVENTS).read_bytes()) < 1_000_000


def test_all_times_are_moved_by_the_same_amount() -> None:
    before, after = read_recording(), recording_until(END)
    by = END - event_time(before[-1])
    assert event_time(after[-1]) == END == max(map(event_time, after))
    assert all(later - earlier == by for earlier, later in zip(_times(before), _times(after), strict=True))


def test_only_times_that_are_a_string_of_their_own_are_moved() -> None:
    line = '{"a":"2026-01-01T00:00:00Z","b":["2026-01-01T00:00:00.5+00:00"],"sql":"day > \'2026-01-01T00:00:00Z\'"}'
    moved = json.loads(shift_times(line, timedelta(days=1)))
    assert (moved["a"], moved["b"]) == ("2026-01-02T00:00:00Z", ["2026-01-02T00:00:00.500000Z"])
    assert moved["sql"] == "day > '2026-01-01T00:00:00Z'"


def test_the_recording_has_what_the_demo_shows_and_no_names_of_the_recording_machine() -> None:
    text = "\n".join(read_recording())
    events = [json.loads(line) for line in read_recording()]
    assert {"FAIL", "COMPLETE", "START"} <= {each["eventType"] for each in events if "eventType" in each}
    assert {each["job"]["namespace"] for each in events if "run" in each} == {"fabric/Sales", "dbt"}
    assert "ValueError: could not convert string to float: 'n/a'" in text
    assert '"success":false' in text
    assert '"masking":true' in text
    assert not re.search(r"/work/|/tmp/|/home/|\"userName\":\"(?!svc-shop)", text)


def test_a_folder_with_other_data_is_refused_and_a_second_start_has_the_same_times(tmp_path: Path) -> None:
    end = prepare_demo(tmp_path / "new")
    assert prepare_demo(tmp_path / "new") == end
    assert f"{end:%Y-%m-%d %H:%M} UTC" in str(demo_settings(tmp_path / "new", 0, end).notice)
    (tmp_path / "format").write_text("1\n")
    with pytest.raises(WrongSetting, match="not from the demo"):
        prepare_demo(tmp_path)


@pytest.mark.slow
def test_it_answers_what_a_person_would_ask_and_ends(tmp_path: Path) -> None:
    (tmp_path / "headwater.toml").write_text('log = "unknown"\n')  # the user's settings, which the demo must ignore
    done = headwater("demo", "--port", "0", "--exit", environment={"HEADWATER_KEYS": "none"}, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    for told in (
        r"All times were moved together, so that the last event is now",
        r"First answer \d+\.\d s after the start\.",
        r"│ 3 +│ Shop\.bronze\.orders#price +│ direct transformation",
        r"│ exposed +│ duckdb:///srv/shop/warehouse\.duckdb/warehouse\.gold\.mailing_list#contact",
        r"│ masked +│ Shop\.silver\.customers#email_sha",
        r"│ unused +│ Shop\.silver\.orders#quantity",
        r"│ run\.failed +│ 0 +│ Job nb_shop_export\S+ failed: ValueError: could not convert string to float: 'n/a'",
        r"│ run\.failed +│ 2 +│ Job warehouse\.gold\.shop\.stock_value\.build\.run failed",
        r"│ test\.failed +│ 1 +│ Test not_null_mailing_list_contact on column contact",
        r"│ dataset\.late +│ 1 +│ Dataset Shop\.bronze\.clicks was due at",
    ):
        assert re.search(told, done.stdout), (told, done.stdout)
    assert not [*tmp_path.glob("headwater-data*")]


def _times(lines: list[str]) -> list[datetime]:
    return [time for line in lines for time in _found(json.loads(line))]


def _found(value: Any) -> Iterator[datetime]:
    if isinstance(value, dict):
        for each in value.values():
            yield from _found(each)
    elif isinstance(value, list):
        for each in value:
            yield from _found(each)
    elif isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)", value):
        yield datetime.fromisoformat(value)
