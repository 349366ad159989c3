"""The formats in which transports write events into files.

Reading continues at the position where it ended the last time. In files with one event per line, the position is a byte
offset, so only the new part of a growing file is read. In formats that are read as a whole (gzip, one document or
array, Avro of Event Hubs Capture), the position is a number of events.
"""

import gzip
import zlib
from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import BinaryIO, NamedTuple

from headwater.common.errors import InvalidEvent, WrongSetting
from headwater.events.event_files import (
    Bytes,
    EventText,
    decode_event,
    events_of_document,
    has_an_event_per_line,
    is_non_blank,
    lines_of,
    lines_up_to_second_non_blank,
    read_whole_document,
)
from headwater.intake.files.capture_records import AVRO, read_capture_bodies

GZIP = b"\x1f\x8b"
SCAN_LIMIT = 4096
"""Number of bytes at the beginning of a file by which its format is recognised."""


class FilePlace(NamedTuple):
    """A position in a file, at which reading continues.

    form: the format, empty before the first read. position: a byte offset if `form` is `lines`, otherwise a number of
    events. line: number of the line before the position.
    """

    form: str = ""
    position: int = 0
    line: int = 0


class FileEvent(NamedTuple):
    """One event of a file.

    text: the bytes of the event, empty if the event is too long to be read. line: number of the line at which the event
    begins; in Capture files, number of the record. next_place: the position after the event. is_complete: False for the
    incomplete end of a file.
    """

    text: bytes
    line: int
    next_place: FilePlace
    is_complete: bool = True


class UnknownFileFormat(Exception):
    """The file has none of the formats that contain events. The message states the reason."""


GetClaim = Callable[[bytes], bytes]
"""A function that returns a large body by its key. Capture files of Headwater's own hub contain such keys.

It raises GiveUp if the body does not exist, and Retry if it cannot be read now.
"""


def read_file_events(file: BinaryIO, place: FilePlace, claim: GetClaim) -> Iterator[FileEvent]:
    """Yield the events of a file after a position.

    Only the last event may be incomplete, because a producer may still write the rest. claim: returns a large body by
    its key. Raises UnknownFileFormat if the file is not text, gzip or Avro.
    """
    form = place.form or _detect_format(file)
    if form == "lines":
        file.seek(place.position)
        return _read_lines(file, place)
    file.seek(0)
    events = _READ[form](file, claim)
    pieces = (FileEvent(each.text or b"", each.line, FilePlace(form, n, each.line)) for n, each in enumerate(events, 1))
    return _until_incomplete(islice(pieces, place.position, None), FilePlace(form, place.position, place.line))


def _detect_format(file: BinaryIO) -> str:
    file.seek(0)
    begin = file.read(SCAN_LIMIT)
    if begin.startswith(GZIP):
        return "gzip"
    if begin.startswith(AVRO):
        return "capture"
    if b"\0" in begin:
        raise UnknownFileFormat("it is not text, gzip or Avro")
    file.seek(0)
    return (
        "lines"
        if _has_events_per_line(list(filter(is_non_blank, lines_up_to_second_non_blank(lines_of(file)))))
        else "document"
    )


def _has_events_per_line(head: list[EventText]) -> bool:
    """Whether a file has one event per line.

    head: the first lines that are not blank, at most two. A single line that is not a JSON object may be the first line
    of a document that is still being written.
    """
    if len(head) == 1 and head[0].text is not None:
        return _is_object(head[0].text)
    return not head or has_an_event_per_line(head)


def _read_lines(file: BinaryIO, place: FilePlace) -> Iterator[FileEvent]:
    for each in lines_of(file, place.line, place.position):
        if is_non_blank(each):
            text = each.text or b""
            has_ended = each.text is None or text.endswith(b"\n")
            behind = each.line if has_ended else each.line - 1  # the rest of the line is read later, as this line
            # a complete object needs no rest, even if its line has not ended
            yield FileEvent(text, each.line, FilePlace("lines", each.end, behind), has_ended or _is_object(text))


def _read_gzip(file: BinaryIO, _: GetClaim) -> Iterator[EventText]:
    with gzip.GzipFile(fileobj=file) as inflated:
        yield from _read_text_events(inflated)


def _read_text_events(file: Bytes) -> Iterator[EventText]:
    lines = lines_of(file)
    head = list(lines_up_to_second_non_blank(lines))
    if _has_events_per_line(list(filter(is_non_blank, head))):
        yield from filter(is_non_blank, chain(head, lines))
    else:
        yield from _events_of_document(read_whole_document("It", head, file))


def _read_document(file: BinaryIO, _: GetClaim) -> Iterator[EventText]:
    yield from _events_of_document(read_whole_document("It", [], file))


def _events_of_document(text: bytes) -> Iterator[EventText]:
    for each in events_of_document(text):
        if each.text == text and not _is_object(text):
            raise EOFError(f"The file is not an event or an array of events; {len(text)} bytes.")
        yield each


def _read_capture(file: BinaryIO, claim: GetClaim) -> Iterator[EventText]:
    for number, body in enumerate(read_capture_bodies(file, claim), 1):
        if body is not None:
            yield EventText(number, body, 0)


_READ: dict[str, Callable[[BinaryIO, GetClaim], Iterator[EventText]]] = {
    "gzip": _read_gzip,
    "document": _read_document,
    "capture": _read_capture,
}


def _until_incomplete(pieces: Iterator[FileEvent], after: FilePlace) -> Iterator[FileEvent]:
    """Yield the events.

    If the file ends too early, yield an incomplete last event with the error message as its text.
    """
    try:
        for piece in pieces:
            yield piece
            after = piece.next_place
    except (EOFError, zlib.error, gzip.BadGzipFile, WrongSetting) as error:
        yield FileEvent(str(error).encode(), after.line + 1, after, is_complete=False)


def _is_object(text: bytes) -> bool:
    try:
        decode_event(text)
    except InvalidEvent:
        return False
    return True
