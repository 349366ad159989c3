"""The formats in which transports write events into files. Reading continues where it ended the last time.

In files of lines that position is a byte, so a growing file is read from there. In formats that are read as a whole
(gzip, one document or array, Avro of Event Hubs Capture) it is a number of events.
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
    first_two_filled,
    has_an_event_per_line,
    is_filled,
    lines_of,
    whole_document,
)
from headwater.intake.files.capture_records import AVRO, bodies_of_capture

GZIP = b"\x1f\x8b"
SCAN_LIMIT = 4096
"""Bytes at the beginning of a file that decide its format."""


class FilePlace(NamedTuple):
    """Position at which reading continues: a number of bytes in `lines`, a number of events in other formats.

    form: the format, empty before anything was read; line: the number of the line before the position.
    """

    form: str = ""
    position: int = 0
    line: int = 0


class Piece(NamedTuple):
    """One event of a file, the line it begins at (in Capture files the record), and the position after it.

    text: empty if the event is too long to be read; whole: false for the incomplete end of a file.
    """

    text: bytes
    line: int
    behind: FilePlace
    whole: bool = True


class NoEvents(Exception):
    """The file has none of the formats that contain events. The message states the reason."""


GetClaim = Callable[[bytes], bytes]
"""Returns a large body by its key. Capture files of Headwater's own hub contain such keys. Raises GiveUp, Retry."""


def read_pieces(file: BinaryIO, place: FilePlace, claim: GetClaim) -> Iterator[Piece]:
    """Yield the events of a file after a position. At most the last piece is incomplete; its rest may still be written.

    Raises NoEvents if the file is not text, gzip or Avro.
    """
    form = place.form or _form(file)
    if form == "lines":
        file.seek(place.position)
        return _lines(file, place)
    file.seek(0)
    events = _READ[form](file, claim)
    pieces = (Piece(each.text or b"", each.line, FilePlace(form, n, each.line)) for n, each in enumerate(events, 1))
    return _until_torn(islice(pieces, place.position, None), FilePlace(form, place.position, place.line))


def _form(file: BinaryIO) -> str:
    file.seek(0)
    begin = file.read(SCAN_LIMIT)
    if begin.startswith(GZIP):
        return "gzip"
    if begin.startswith(AVRO):
        return "capture"
    if b"\0" in begin:
        raise NoEvents("it is not text, gzip or Avro")
    file.seek(0)
    return "lines" if _is_of_lines(list(filter(is_filled, first_two_filled(lines_of(file))))) else "document"


def _is_of_lines(head: list[EventText]) -> bool:
    """Decide by the first filled lines. A single one may be the first line of a document that is still written."""
    if len(head) == 1 and head[0].text is not None:
        return _is_object(head[0].text)
    return not head or has_an_event_per_line(head)


def _lines(file: BinaryIO, place: FilePlace) -> Iterator[Piece]:
    for each in lines_of(file, place.line, place.position):
        if is_filled(each):
            text = each.text or b""
            has_ended = each.text is None or text.endswith(b"\n")
            behind = each.line if has_ended else each.line - 1  # the rest of the line is read later, as this line
            # a complete object needs no rest, even if its line has not ended
            yield Piece(text, each.line, FilePlace("lines", each.end, behind), has_ended or _is_object(text))


def _gzip(file: BinaryIO, _: GetClaim) -> Iterator[EventText]:
    with gzip.GzipFile(fileobj=file) as inflated:
        yield from _events(inflated)


def _events(file: Bytes) -> Iterator[EventText]:
    lines = lines_of(file)
    head = list(first_two_filled(lines))
    if _is_of_lines(list(filter(is_filled, head))):
        yield from filter(is_filled, chain(head, lines))
    else:
        yield from _document_of(whole_document("It", head, file))


def _document(file: BinaryIO, _: GetClaim) -> Iterator[EventText]:
    yield from _document_of(whole_document("It", [], file))


def _document_of(text: bytes) -> Iterator[EventText]:
    for each in events_of_document(text):
        if each.text == text and not _is_object(text):
            raise EOFError(f"The file is not an event or an array of events; {len(text)} bytes.")
        yield each


def _capture(file: BinaryIO, claim: GetClaim) -> Iterator[EventText]:
    for number, body in enumerate(bodies_of_capture(file, claim), 1):
        if body is not None:
            yield EventText(number, body, 0)


_READ: dict[str, Callable[[BinaryIO, GetClaim], Iterator[EventText]]] = {
    "gzip": _gzip,
    "document": _document,
    "capture": _capture,
}


def _until_torn(pieces: Iterator[Piece], behind: FilePlace) -> Iterator[Piece]:
    """Pass pieces on. If the file breaks off, the last piece is incomplete and contains the reason."""
    try:
        for piece in pieces:
            yield piece
            behind = piece.behind
    except (EOFError, zlib.error, gzip.BadGzipFile, WrongSetting) as error:
        yield Piece(str(error).encode(), behind.line + 1, behind, whole=False)


def _is_object(text: bytes) -> bool:
    try:
        decode_event(text)
    except InvalidEvent:
        return False
    return True
