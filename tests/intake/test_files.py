"""Files of every transport reach the receiver, each event once, whatever happens to the files."""

import gzip
import json
import os
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import BinaryIO

import pytest
from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import Job, Run, RunEvent, RunState
from openlineage.client.transport.file import FileConfig, FileTransport
from pydantic import SecretStr

from headwater.auth.access import Key
from headwater.common.errors import GiveUp, Retry, WrongSetting
from headwater.common.http_connection import HttpAnswer
from headwater.intake.files.batch_sending import BATCH
from headwater.intake.files.file_taking import TORN_US, DeletionLimits, IngestReport
from headwater.intake.files.sources.file_source import FoundFile
from headwater.intake.files.sources.local_files import LocalFiles
from headwater.intake.files.taken_ledger import FilePosition, IngestLedger, ledger_path
from tests.support.data.capture_files import captured
from tests.support.data.file_intake import DAY_US, Taking, all_but_certain, events
from tests.support.data.made_events import body, run_event

LOSSES = {"applicationName": "nightly", "application": "app-1", "dropped": 3, "until": "2026-03-02T00:00:01.500Z"}


@pytest.fixture
def taking(tmp_path: Path) -> Iterator[Taking]:
    made = Taking(tmp_path)
    yield made
    made.close()


def lines(bodies: list[bytes]) -> bytes:
    return b"".join(each + b"\n" for each in bodies)


FORMS: dict[str, Callable[[list[bytes]], bytes]] = {
    "lines": lines,
    "lines, the last without an end": b"\n".join,
    "lines of Windows, blank ones between": lambda bodies: b"\r\n\r\n".join(bodies) + b"\r\n",
    "array": lambda bodies: b"[" + b",".join(bodies) + b"]",
    "gzip": lambda bodies: gzip.compress(lines(bodies)),
    "gzip of several members": lambda bodies: b"".join(gzip.compress(each + b"\n") for each in bodies),
    "gzip of an array": lambda bodies: gzip.compress(b"[" + b",".join(bodies) + b"]"),
    "capture of another hub": lambda bodies: captured(*((each, {}) for each in bodies)),
    "capture of ours": lambda bodies: captured(*((each, {"k": 0, "h": '{"key":"a"}'}) for each in bodies)),
}


@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_taken_once(taking: Taking, form: str) -> None:
    sent = events(3)
    (taking.folder / "file").write_bytes(FORMS[form](sent))

    assert taking.take().events == 3
    again = taking.take()

    assert sorted(taking.bodies()) == sorted(sent)
    assert (again.events, again.files, again.unchanged) == (0, 1, 1)


def test_a_file_of_one_pretty_event_is_one_event(taking: Taking) -> None:
    event = run_event()
    (taking.folder / "ol-260301T120000.000001-job-START.json").write_text(json.dumps(event, indent=2))

    assert taking.take().events == 1
    assert [json.loads(each) for each in taking.bodies()] == [event]


def test_a_capture_of_ours_brings_claims_and_leaves_notes_of_refusals_out(tmp_path: Path) -> None:
    (large,), (plain,) = events(1), events(1)
    claims = {b"a-key": large}

    def claim(key: bytes) -> bytes:
        if key not in claims:
            raise GiveUp("gone")
        return claims[key]

    taking = Taking(tmp_path, claim=claim)
    records = ((b"a-key", {"k": 1}), (b'{"count": 1}', {"k": 2}), (plain, {"k": 0}), (b"gone-key", {"k": 1}))
    (taking.folder / "0.avro").write_bytes(captured(*records))

    done = taking.take(whole=False)

    assert (done.events, done.rejected) == (2, 1)
    assert taking.bodies() == [large, plain, b"gone-key"]
    assert taking.origins() == [f"{taking.folder}/0.avro:4"]
    taking.close()


def test_a_line_of_losses_goes_as_an_event(taking: Taking) -> None:
    taking.write("1-2-1events.ndjson", *events(1), json.dumps({"headwater": LOSSES}).encode())

    done = taking.take()

    assert (done.events, done.losses) == (2, 1)
    assert json.loads(taking.bodies()[1])["job"]["facets"]["headwater_transportLosses"]["dropped"] == 3


def test_a_line_that_is_no_event_is_kept_with_its_file_and_line(taking: Taking) -> None:
    good = events(2)
    path = taking.write("a b ü.ndjson", good[0], b"{no json", b'{"an": "object"}', b"\xff\xfe", good[1])

    done = taking.take(whole=False)

    assert (done.events, done.rejected, done.refused) == (2, 3, 0)
    assert taking.origins() == [f"{path}:{line}" for line in (2, 3, 4)]
    assert sorted(taking.bodies()) == sorted([*good, b"{no json", b'{"an": "object"}', b"\xff\xfe"])
    assert taking.take().rejected == 0


def test_a_line_whose_end_comes_after_it_was_taken_is_counted_once(taking: Taking) -> None:
    first, second = events(2)
    path = taking.write("log.ndjson", first, torn=second)
    assert taking.take().events == 2

    taking.write("log.ndjson", b"", b"{no json", append=True)

    assert taking.take(whole=False).rejected == 1
    assert taking.origins() == [f"{path}:3"]


def test_a_torn_last_line_is_waited_for(taking: Taking) -> None:
    first, second, third = events(3)
    taking.write("log.ndjson", first, torn=second[:20])

    done = taking.take()
    assert (done.events, done.waiting, done.rejected) == (1, 1, 0)
    assert taking.take().as_json()["reasons"] == [
        f"{taking.folder}/log.ndjson: the end after line 1 is incomplete; it is rejected after a day"
    ]
    taking.write("log.ndjson", second[20:], third, append=True)

    assert taking.take().waiting == 0
    assert taking.bodies() == [first, second, third]


@pytest.mark.parametrize("form", ["lines", "array", "gzip", "capture of ours"])
def test_what_is_being_written_is_waited_for_in_every_form(taking: Taking, form: str) -> None:
    sent = events(3)
    text = FORMS[form](sent)
    path = taking.folder / "file"
    for length in (1, len(text) // 2, len(text) - 3):
        path.write_bytes(text[:length])
        done = taking.take()
        assert (done.rejected, done.waiting) == (0, 1)
    path.write_bytes(text)
    taking.take()

    assert set(taking.bodies()) == set(sent)


def test_what_is_torn_for_a_day_is_rejected(taking: Taking) -> None:
    (first,) = events(1)
    old_s = (time.time_ns() // 1000 - TORN_US) / 1e6 - 60
    names = [taking.write("log.ndjson", first, torn=b'{"eventTi'), taking.folder / "broken.json"]
    names[1].write_bytes(b'[{"a": 1},\n')
    for path in names:
        os.utime(path, (old_s, old_s))

    done = taking.take(whole=False)

    assert (done.rejected, done.waiting) == (2, 0)
    assert sorted(taking.origins()) == [f"{names[1]}:1", f"{names[0]}:2"]
    assert taking.take().unchanged == 2


def test_a_file_that_grows_is_read_on_from_where_it_was_left(taking: Taking) -> None:
    sent = events(30)
    for start in range(0, 30, 10):
        taking.write("log.ndjson", *sent[start : start + 10], append=True)
        assert taking.take().events == 10

    assert taking.bodies() == sent


def test_a_file_that_is_rotated_goes_on_under_its_new_name(taking: Taking) -> None:
    sent = events(9)
    log = taking.write("log.ndjson", *sent[:3])
    taking.take()
    taking.write("log.ndjson", *sent[3:5], append=True)
    log.rename(taking.folder / "log.ndjson.1")
    taking.write("log.ndjson", *sent[5:])

    assert taking.take().events == 6
    assert sorted(taking.bodies()) == sorted(sent)


def test_a_file_that_was_moved_by_a_copy_goes_on_too(taking: Taking) -> None:
    sent = events(9)
    log = taking.write("log.ndjson", *sent[:5])
    taking.take()
    copied = taking.folder / "old" / "log.1"
    copied.parent.mkdir()
    copied.write_bytes(log.read_bytes() + lines(sent[5:7]))
    log.write_bytes(lines(sent[7:]))  # the same inode with new content from the start

    assert taking.take().events == 4
    assert sorted(taking.bodies()) == sorted(sent)


def test_a_file_that_was_cut_off_and_has_grown_beyond_its_place_is_read_anew(taking: Taking) -> None:
    before, after = events(3), events(9)
    log = taking.write("log.ndjson", *before)
    taking.take()
    with log.open("r+b") as file:
        file.truncate()
        file.write(lines(after))

    assert taking.take().events == 9
    assert taking.bodies() == [*before, *after]


def test_a_file_that_is_cut_off_and_grows_beyond_its_place_while_it_is_read_loses_nothing(taking: Taking) -> None:
    before, after = events(3 * BATCH), events(5 * BATCH)
    log = taking.write("log.ndjson", *before)
    steps = iter([lines(after)])

    def turn_over(_: IngestReport) -> None:
        if text := next(steps, None):
            log.write_bytes(text)  # the same inode, now longer than the part that was read

    taking.take(on_batch=turn_over, whole=False)
    taking.take()

    assert {*after} <= {*taking.bodies()}
    assert taking.take().events == 0


def test_a_file_that_shrinks_while_it_is_read_is_taken_as_far_as_it_goes(taking: Taking) -> None:
    before, after = events(3 * BATCH), events(1)
    log = taking.write("log.ndjson", *before)
    taking.take(on_batch=lambda _: os.truncate(log, 0), whole=False)
    taking.write("log.ndjson", *after)

    taking.take()

    assert taking.bodies()[-1:] == after


def test_folders_are_looked_into_at_any_depth(taking: Taking) -> None:
    path = taking.folder.joinpath(*["d"] * 1_500, "a.ndjson")
    inner = os.open(taking.folder, os.O_RDONLY)
    for _ in path.relative_to(taking.folder).parts[:-1]:
        os.mkdir("d", dir_fd=inner)
        outer, inner = inner, os.open("d", os.O_RDONLY, dir_fd=inner)
        os.close(outer)
    os.close(inner)
    path.write_bytes(lines(events(1)))
    try:
        assert taking.take().events == 1
    finally:
        subprocess.run(["rm", "-rf", str(taking.folder / "d")], check=True)  # the path is too deep for Python


def test_a_document_that_is_written_anew_is_read_anew(taking: Taking) -> None:
    first, second = events(2)
    (taking.folder / "a.json").write_bytes(FORMS["array"]([first]))
    taking.take()
    (taking.folder / "a.json").write_bytes(FORMS["array"]([first, second]))

    taking.take()

    assert taking.bodies() == [first, first, second]  # the lake recognizes the first event by its id


def test_a_file_that_vanishes_before_it_is_read_holds_nobody_up(taking: Taking) -> None:
    sent = events(1)
    taking.write("b.ndjson", *sent)

    class Listed(LocalFiles):
        def files(self, since_us: int) -> Iterator[FoundFile]:
            yield FoundFile(str(taking.folder / "a.ndjson"), "1:2", 5, 1)
            yield from super().files(since_us)

    assert taking.take(Listed(taking.folder)).events == 1


def test_what_is_hidden_or_unfinished_or_no_text_is_passed_over(taking: Taking) -> None:
    for name in (".hidden", "_SUCCESS", "a.ndjson.tmp", "_delta_log/0.json"):
        taking.write(name, *events(1))
    taking.write("part.parquet", b"PAR1\0\0\0")

    done = taking.take(whole=False)

    assert (done.events, done.unreadable, done.files) == (0, 1, 1)
    assert "not text" in done.reasons[0]
    assert taking.take(deletion=all_but_certain()).unreadable == 0
    assert (taking.folder / "part.parquet").exists()


def test_a_file_that_may_not_be_read_is_named_and_the_others_are_taken(taking: Taking) -> None:
    taking.write("a.ndjson", *events(1))
    taking.write("b.ndjson", *events(1))

    class Closed(LocalFiles):
        """Root can read everything, so this class raises the error that other accounts get."""

        def open(self, found: FoundFile) -> BinaryIO:
            if found.path.endswith("a.ndjson"):
                raise PermissionError(13, "Permission denied")
            return super().open(found)

    done = taking.take(Closed(taking.folder), whole=False)

    assert (done.events, done.unreadable) == (1, 1)
    assert done.reasons == [f"{taking.folder}/a.ndjson: it cannot be read: Permission denied"]


def test_a_folder_that_cannot_be_listed_is_named_and_the_others_are_taken(taking: Taking) -> None:
    taking.write("z/a.ndjson", *events(1))
    inner = os.open(taking.folder, os.O_RDONLY)
    for _ in range(20):  # create a path that is longer than the system allows
        os.mkdir("x" * 250, dir_fd=inner)
        outer, inner = inner, os.open("x" * 250, os.O_RDONLY, dir_fd=inner)
        os.close(outer)
    os.close(inner)

    done = taking.take(whole=False)

    assert (done.events, done.unreadable) == (1, 1)
    assert done.reasons[0].endswith("it cannot be read: File name too long")


def test_folders_of_earlier_days_are_not_listed(taking: Taking) -> None:
    day = "2026-03-02"
    since_us = 1_772_409_600_000_000  # the start of that day, UTC
    for name in ("dt=2026-02-28/a", "dt=2026-03-01/late", "dt=2026-03-02/b", "x/dt=2026-03-03/c", "dt=never/d"):
        taking.write(name, *events(1))
    old = taking.write("e", *events(1))
    os.utime(old, (since_us / 1e6 - 1, since_us / 1e6 - 1))

    assert taking.take(since_us=since_us).files == 4, day
    assert taking.take().events == 2


def test_a_receiver_that_is_busy_is_waited_for_as_long_as_it_asks(taking: Taking) -> None:
    sent = events(BATCH + 1)
    taking.write("a.ndjson", *sent)
    taking.answers = [HttpAnswer(503, {}, b"{}"), HttpAnswer(429, {"retry-after": "7"}, b""), HttpAnswer(500, {}, b"")]

    assert taking.take().events == BATCH + 1
    assert taking.waited == [0.5, 7.0, 2.0]
    assert taking.bodies() == sent


def test_a_receiver_that_stays_away_ends_the_command_and_the_next_one_goes_on(tmp_path: Path) -> None:
    taking = Taking(tmp_path, patience_s=0.0)
    sent = events(BATCH + 20)
    taking.write("a.ndjson", *sent)
    taking.answers = [HttpAnswer(503, {}, b"full")]

    with pytest.raises(Retry, match=r"answers 503: full.*again"):
        taking.take()
    assert taking.bodies() == []
    taking.take()

    assert taking.bodies() == sent
    taking.close()


def test_a_batch_too_large_for_the_receiver_goes_in_parts(tmp_path: Path) -> None:
    taking = Taking(tmp_path, max_body_bytes=4000)
    sent = [body(run_event(note="x" * 700)) for _ in range(10)]
    larger = body(run_event(note="x" * 5000))
    path = taking.write("a.ndjson", *sent, larger)

    done = taking.take(whole=False)

    assert (done.events, done.refused) == (10, 1)
    assert done.reasons == [f"{path}:11: The body is larger than 4000 bytes inflated."]
    assert sorted(taking.bodies()) == sorted(sent)
    taking.close()


def test_what_a_key_may_not_write_is_refused_and_its_file_is_kept(tmp_path: Path) -> None:
    key = Key(name="k", key=SecretStr("some-secret"), namespaces=frozenset({"mine"}))
    taking = Taking(tmp_path, keys=[key])
    mine, other = run_event(job={"namespace": "mine", "name": "j"}), run_event()
    path = taking.write("a.ndjson", body(mine), body(other), b"{")

    done = taking.take(whole=False)

    # a line that is not an event belongs to no namespace
    assert (done.events, done.refused, done.rejected) == (1, 2, 0)
    assert taking.take(deletion=all_but_certain()).deleted == 0
    assert path.exists()
    taking.close()


def test_a_wrong_key_ends_the_command_and_nothing_counts_as_taken(taking: Taking) -> None:
    taking.write("a.ndjson", *events(1))
    taking.answers = [HttpAnswer(401, {}, b'{"error": "The key is wrong.", "field": null, "fix": "Send it."}')]

    with pytest.raises(WrongSetting, match="--key or HEADWATER_KEY"):
        taking.take()
    assert taking.take().events == 1


def test_what_is_no_receiver_is_told_apart(taking: Taking) -> None:
    taking.write("a.ndjson", *events(1))
    for answer in (HttpAnswer(404, {}, b"<html>"), HttpAnswer(200, {}, b"<html>"), HttpAnswer(302, {}, b"")):
        taking.answers = [answer]
        with pytest.raises(WrongSetting, match="not a Headwater receiver"):
            taking.take()


def test_taken_files_go_once_they_are_in_bronze_and_have_rested(taking: Taking) -> None:
    taken = taking.write("a.ndjson", *events(2))
    torn = taking.write("b.ndjson", *events(2), torn=b'{"ev')
    taking.take()
    now_us = time.time_ns() // 1000

    for deletion in (
        None,
        DeletionLimits(now_us + DAY_US, now_us - DAY_US),
        DeletionLimits(now_us - DAY_US, now_us + DAY_US),
    ):
        assert taking.take(deletion=deletion).deleted == 0
    taking.write("a.ndjson", *events(1), append=True)
    assert taking.take(deletion=all_but_certain()).deleted == 0  # the new content must be ingested first

    assert taking.take(deletion=all_but_certain()).deleted == 1
    assert (taken.exists(), torn.exists()) == (False, True)


def test_who_follows_asks_the_ledger_for_what_has_changed_alone(taking: Taking) -> None:
    asked: list[str] = []
    for number, each in enumerate(events(50)):
        taking.write(f"{number}.ndjson", each)
    torn = taking.write("torn.ndjson", torn=b'{"ev')
    taker, source = taking.taker(), LocalFiles(taking.folder)
    taker.ingest([source])
    taker.ingest([source])  # the file is recognized as ingested

    taking.ledger._file.set_trace_callback(asked.append)
    taker.ingest([source])
    assert (taker.done.files, taker.done.unchanged, taker.done.waiting) == (51, 51, 1)
    assert [torn.name in each or str(torn.stat().st_ino) in each for each in asked if "SELECT" in each] == [True]

    asked.clear()
    taking.write("7.ndjson", *events(1), append=True)
    taker.ingest([source])
    assert (taker.done.events, taker.done.unchanged) == (51, 50)
    taker.ingest([source], deletion=all_but_certain())
    assert taker.done.deleted == 50
    assert [*taking.folder.iterdir()] == [torn]


def test_a_file_is_not_deleted_that_has_grown_since_it_was_listed(taking: Taking) -> None:
    path = taking.write("a.ndjson", *events(1))
    source = LocalFiles(taking.folder)
    (found,) = source.files(0)
    taking.write("a.ndjson", *events(1), append=True)

    assert source.delete(found) is False
    assert path.exists()


def test_a_ledger_is_one_process_s(taking: Taking) -> None:
    with pytest.raises(WrongSetting, match="Another `headwater ingest` uses"):
        IngestLedger(taking.ledger.path)


def test_a_ledger_that_is_none_or_newer_is_refused(tmp_path: Path) -> None:
    (tmp_path / "none.sqlite").write_bytes(b"something else" * 100)
    newer = IngestLedger(tmp_path / "newer.sqlite")
    newer._file.execute("PRAGMA user_version = 2")
    newer.close()

    for name in ("none", "newer"):
        with pytest.raises(WrongSetting, match="another --state"):
            IngestLedger(tmp_path / f"{name}.sqlite")


def test_a_ledger_that_is_damaged_while_it_is_used_is_named_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with closing(IngestLedger(path)) as ledger:
        ledger.store_positions(FilePosition("store", f"{number}", f"{number}.json") for number in range(999))
    content = path.read_bytes()
    path.write_bytes(content[:8192] + b"\xa5" * (len(content) - 8192))
    with closing(IngestLedger(path)) as ledger, pytest.raises(WrongSetting, match=f"{path} is damaged.* Delete it"):
        ledger.find("store", "500")


def test_a_thousand_files_in_a_round_and_a_large_one_are_taken_by_batches(taking: Taking) -> None:
    sent = events(1000)
    for number, each in enumerate(sent):
        taking.write(f"dt=2026-03-01/{number}.json", each)
    sent += events(2 * BATCH)
    taking.write("large.ndjson", *sent[1000:])

    assert taking.take().events == 1000 + 2 * BATCH
    assert sorted(taking.bodies()) == sorted(sent)
    assert len(taking.asked) == 4


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (b"\xff", "\\udcff"),
        (b"a\nheadwater: all is well", "a\\nheadwater: all is well"),
        (b"\xe2\x80\xae.gpj", "\\u202e.gpj"),
    ],
)
def test_a_name_that_is_no_line_of_text_is_shown_as_one_and_its_file_is_taken(
    taking: Taking, name: bytes, shown: str
) -> None:
    sent = events(1)
    Path(os.fsdecode(os.fsencode(taking.folder) + b"/" + name + b".ndjson")).write_bytes(lines([*sent, b"{"]) + b"\n")

    done = taking.take(whole=False)

    assert (done.events, done.rejected) == (1, 1)
    assert taking.origins() == [f"{taking.folder}/{shown}.ndjson:2"]
    assert taking.take().unchanged == 1


def test_a_ledger_is_named_after_its_receiver_without_credentials(tmp_path: Path) -> None:
    paths = [
        ledger_path(tmp_path, url) for url in ("http://u:secret@host:5000", "http://host:5000", "http://host:5000/")
    ]

    assert paths[1] == paths[2] != paths[0]
    assert all(path.name.startswith("host-5000-") for path in paths)


def test_what_the_disk_does_not_keep_is_sent_again(taking: Taking) -> None:
    sent = events(1)
    taking.write("a.ndjson", *sent)
    taking.ledger._file.execute("PRAGMA query_only = ON")
    with pytest.raises(Retry, match="Cannot store the ingest state"):
        taking.take()
    taking.ledger._file.execute("PRAGMA query_only = OFF")

    taking.take()

    assert taking.bodies() == sent * 2


@pytest.mark.parametrize("options", [{"append": True}, {"append": False}, {"append": False, "debug_mode": True}])
def test_what_openlineage_s_own_file_transport_writes_is_taken(taking: Taking, options: dict[str, bool]) -> None:
    config = FileConfig.from_dict({"log_file_path": str(taking.folder / "lineage"), **options})
    client, runs = OpenLineageClient(transport=FileTransport(config)), [str(uuid.uuid4()) for _ in range(5)]
    for run in runs:
        client.emit(
            RunEvent(
                eventType=RunState.START,
                eventTime="2026-03-01T12:00:00Z",
                run=Run(run),
                job=Job("tests", "job"),
                producer="https://example.org",
            )
        )

    done = taking.take()

    assert (done.events, done.files) == (5, 1 if options["append"] else 5)
    assert sorted(json.loads(each)["run"]["runId"] for each in taking.bodies()) == sorted(runs)
