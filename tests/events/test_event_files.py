"""Files of events in every common format, and a clear error for every other file."""

import gzip
import json
import os
import threading
from pathlib import Path

import pytest

from headwater.common.errors import WrongSetting
from headwater.events.event_files import LONGEST_LINE
from headwater.events.file_validation import CheckedEvent, validate_file
from tests.support.paths import EVENTS

GOOD = (EVENTS / "compat-spark-dataproc-simple.ndjson").read_bytes().splitlines(keepends=True)
BAD = b'{"run":{},"job":{"namespace":"n","name":"j"}}\n'
EXPECTED_OF_BAD = ["event", "event", "event", "run"]


def written(folder: Path, content: bytes) -> Path:
    path = folder / "events.json"
    path.write_bytes(content)
    return path


def lines_and_verdicts(path: Path) -> list[tuple[int, bool]]:
    return [(event.line, event.is_valid) for event in validate_file(path)]


def test_each_line_is_checked_and_named_by_its_number(tmp_path: Path) -> None:
    path = written(tmp_path, b"\n".join([GOOD[0], BAD, b"  ", GOOD[1].strip()]))

    checked = list(validate_file(path))

    assert [(event.line, event.is_valid) for event in checked] == [(1, True), (3, False), (6, True)]
    assert [problem.path for problem in checked[1].problems] == EXPECTED_OF_BAD


def test_a_pretty_printed_event_is_one_event(tmp_path: Path) -> None:
    pretty = json.dumps(json.loads(GOOD[0]), indent=2).encode()

    assert lines_and_verdicts(written(tmp_path, pretty)) == [(1, True)]
    assert lines_and_verdicts(written(tmp_path, b"\n\n" + pretty)) == [(3, True)]
    assert lines_and_verdicts(written(tmp_path, b'{"inputs": [\n' + b'{"name": 1}]}')) == [(1, False)]


@pytest.mark.parametrize("indent", [None, 2])
def test_the_events_of_an_array_are_named_by_the_line_they_begin_at(tmp_path: Path, indent: int | None) -> None:
    events = [json.loads(GOOD[0]), json.loads(BAD), json.loads(GOOD[1])]
    text = json.dumps(events, indent=indent)
    starts = [number for number, line in enumerate(text.splitlines(), 1) if line == "  {"] or [1, 1, 1]

    checked = lines_and_verdicts(written(tmp_path, text.encode()))

    assert checked == list(zip(starts, [True, False, True], strict=True))


def test_gzip_is_recognised_by_its_content(tmp_path: Path) -> None:
    assert lines_and_verdicts(written(tmp_path, gzip.compress(GOOD[0] + BAD))) == [(1, True), (2, False)]
    assert lines_and_verdicts(written(tmp_path, gzip.compress(b"[" + BAD + b"]"))) == [(1, False)]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"{", "not valid JSON"),
        (b'{"a":NaN}', "column 6"),
        (b'{"a":1} x', "trailing characters"),
        (b"// comment", "column 1"),
        (b"17", "not an object"),
        (b'{"a":"\xff"}', "is not valid UTF-8"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        ('{"a":1}'.encode("utf-16"), "byte order mark"),
        (b'{"a":' * 100_000, "too many levels"),
        (b'{"a":"\\ud800"', "not valid JSON"),
        (b'{"a":"\\ud800","b":NaN}', "not valid JSON"),
    ],
)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_broken_line_is_explained_and_the_next_ones_are_checked(
    tmp_path: Path, line: bytes, says: str, place: int
) -> None:
    lines = [GOOD[0].strip(), GOOD[1].strip()]
    lines.insert(place, line)
    checked = list(validate_file(written(tmp_path, b"\n".join(lines))))

    broken = [event for event in checked if not event.is_valid]
    assert len(checked) - len(broken) == 2
    assert says in broken[0].problems[0].message
    assert broken[0].line == place + 1


def test_half_a_surrogate_pair_is_json_and_is_read(tmp_path: Path) -> None:
    event = json.loads(GOOD[0])
    event["job"]["name"] = "\ud800"

    assert lines_and_verdicts(written(tmp_path, json.dumps(event).encode())) == [(1, True)]
    assert lines_and_verdicts(written(tmp_path, json.dumps([event, event]).encode())) == [
        (1, True),
        (1, True),
    ]


def test_a_broken_document_is_one_invalid_event_and_its_place_is_named(tmp_path: Path) -> None:
    [event] = validate_file(written(tmp_path, b'{\n  "run": {,\n  "job": 1\n}\n'))

    assert "line 2, column 11" in event.problems[0].message
    [event] = validate_file(written(tmp_path, b"time,job\n2024,x\n"))
    assert "not valid JSON" in event.problems[0].message


@pytest.mark.slow
def test_an_endless_line_is_skipped_and_the_next_one_is_checked(tmp_path: Path) -> None:
    endless = b'{"a":"' + b"x" * (LONGEST_LINE + 3 * 2**20) + b'"}\n'
    path = written(tmp_path, gzip.compress(GOOD[0] + endless + GOOD[1], compresslevel=1))

    checked = list(validate_file(path))

    assert [(event.line, event.is_valid) for event in checked] == [(1, True), (2, False), (3, True)]
    assert checked[1].problems[0].message == "is longer than 64 MiB and was not checked"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes, which this system has not")
def test_an_event_is_checked_before_the_rest_of_the_file_is_there(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    seen = threading.Event()

    def write() -> None:
        with pipe.open("wb", buffering=0) as file:
            file.write(GOOD[0] + GOOD[1])
            if seen.wait(60):
                file.write(GOOD[2])

    writer = threading.Thread(target=write)
    writer.start()
    checked: list[CheckedEvent] = []
    for event in validate_file(pipe):
        checked.append(event)
        seen.set()
    writer.join()

    assert [event.line for event in checked] == [1, 2, 3]


@pytest.mark.parametrize("content", [b"", b"\n \n", gzip.compress(b"", mtime=0), b"[]", b"[\n]"])
def test_a_file_without_events_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(WrongSetting, match="Use a file with OpenLineage events"):
        list(validate_file(written(tmp_path, content)))


def test_what_cannot_be_read_is_refused_with_the_reason(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.json", tmp_path):
        with pytest.raises(WrongSetting, match=r"Cannot read .*: .*Use a readable file"):
            list(validate_file(path))


@pytest.mark.parametrize("damage", ["cut", "changed"])
def test_damaged_gzip_is_refused(tmp_path: Path, damage: str) -> None:
    packed = bytearray(gzip.compress(b"".join(GOOD) * 50))
    if damage == "cut":
        del packed[-20:]
    else:
        packed[len(packed) // 2] ^= 0xFF

    with pytest.raises(WrongSetting, match="Cannot read"):
        list(validate_file(written(tmp_path, bytes(packed))))
