"""Reads event files: one event per line, one pretty-printed event, or an array; plain or gzip."""

import gzip
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from headwater.common.errors import InvalidEvent, WrongSetting
from headwater.events.core_part import event_kind
from headwater.events.decode import decode, repair_surrogates
from headwater.events.envelope import check_utf8


def decode_event(text: bytes) -> dict[str, Any]:
    """Decode the JSON of one event.

    Raises InvalidEvent if the text is not UTF-8, not JSON (the message has line and column), nested too deeply, or not
    a JSON object.
    """
    check_utf8(text)
    try:
        event = decode(text)
    except InvalidEvent as error:
        raise InvalidEvent(error.reason, _line_and_column(text) or error.what, error.fix) from error
    if not isinstance(event, dict):
        raise InvalidEvent("not_an_object", "The JSON is not an object.", "Write one OpenLineage event.")
    return event


def _line_and_column(text: bytes) -> str | None:
    """Return the syntax error of a JSON text with its line and column, or None if msgspec finds no such error."""
    try:
        msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        found = re.search(r"\(byte (\d+)\)", str(error))
        if found:
            before = text[: int(found[1])]
            column = len(before) - before.rfind(b"\n")
            lines = before.count(b"\n") + 1
            line = f"line {lines}, " if b"\n" in text.strip() else ""
            return f"The text is not valid JSON: {str(error).replace(found[0], f'({line}column {column})')}."
    except RecursionError:
        pass
    return None


LONGEST_LINE = 64 * 2**20
LARGEST_DOCUMENT = 256 * 2**20

_GZIP = b"\x1f\x8b"
Bytes = BinaryIO | gzip.GzipFile


@dataclass(frozen=True)
class EventText:
    """The raw bytes of one event, and the line (from 1) on which it begins.

    text: the bytes, or None if the line exceeds LONGEST_LINE bytes. end: byte offset of the end of the event in the
    decompressed file.
    """

    line: int
    text: bytes | None
    end: int


def read_event_texts(path: Path) -> Iterator[EventText]:
    """Yield the events of a file in order.

    A file with one event per line is read line by line. A file with one document or array is read as a whole.

    Raises WrongSetting if the file is missing, unreadable, damaged or empty, or a document is larger than
    LARGEST_DOCUMENT bytes.
    """
    with _open_file(path) as file:
        lines = lines_of(file)
        head = list(lines_up_to_second_non_blank(lines))
        if not any(map(is_non_blank, head)):
            raise WrongSetting(f"{path} is empty. Use a file with OpenLineage events, one per line.")
        if has_an_event_per_line(head):
            yield from filter(is_non_blank, chain(head, lines))
            return
        events = events_of_document(read_whole_document(str(path), head, file))
        if (first := next(events, None)) is None:
            raise WrongSetting(f"{path} contains an empty array. Use a file with OpenLineage events.")
        yield first
        yield from events


@contextmanager
def _open_file(path: Path) -> Iterator[Bytes]:
    try:
        with path.open("rb") as file:
            if file.peek(2).startswith(_GZIP):
                with gzip.GzipFile(fileobj=file) as inflated:
                    yield inflated
            else:
                yield file
    except (OSError, EOFError, zlib.error) as error:
        raise WrongSetting(f"Cannot read {path}: {error}. Use a readable file, plain or gzip.") from error


def lines_of(file: Bytes, lines_before: int = 0, position: int = 0) -> Iterator[EventText]:
    """Yield all lines from the current position of a file, including blank lines.

    lines_before: how many lines precede this position. position: the position in bytes.
    """
    number, end = lines_before, position
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        end += len(line)
        if len(line) <= LONGEST_LINE:
            yield EventText(number, line, end)
        else:
            while line and not line.endswith(b"\n"):
                line = file.readline(2**20)
                end += len(line)
            yield EventText(number, None, end)


def lines_up_to_second_non_blank(lines: Iterator[EventText]) -> Iterator[EventText]:
    """Yield lines until two of them are not blank. The format of the file is determined by these two lines."""
    wanted = 2
    while wanted and (line := next(lines, None)):
        yield line
        wanted -= is_non_blank(line)


def is_non_blank(line: EventText) -> bool:
    """Whether a line is not blank. Lines that are too long to read count as not blank."""
    return line.text is None or bool(line.text.strip())


def has_an_event_per_line(head: Iterable[EventText]) -> bool:
    """Whether a file has one event per line, and not one document or array.

    head: the first lines of the file, until two of them are not blank.
    """
    first, second = ([*(line.text for line in head if is_non_blank(line)), b""])[:2]
    if first is None or second is None:
        return True
    if first.lstrip().startswith(b"["):
        return False
    # In a pretty-printed event, `{` follows a line break only after `[`, `,` or `:`.
    after_break = second.lstrip().startswith(b"{") and not first.rstrip().endswith((b"[", b",", b":"))
    return not second or after_break or _decode_or_none(first) is not None or _is_event(second)


def _is_event(line: bytes) -> bool:
    event = _decode_or_none(line)
    return event is not None and event_kind(event) is not None


def _decode_or_none(line: bytes) -> dict[str, Any] | None:
    try:
        return decode_event(line)
    except InvalidEvent:
        return None


def read_whole_document(name: str, head: Iterable[EventText], file: Bytes) -> bytes:
    """Read the rest of a file, and return it after its first lines.

    name: name of the file for the error. head: the lines that were read already. Raises WrongSetting if the document
    exceeds LARGEST_DOCUMENT bytes.
    """
    text = b"".join([*(line.text or b"" for line in head), file.read(LARGEST_DOCUMENT)])
    if len(text) > LARGEST_DOCUMENT or file.read(1):
        limit = f"{LARGEST_DOCUMENT // 2**20} MiB"
        raise WrongSetting(f"{name} is a JSON document of more than {limit}. Write one event per line.")
    return text


def events_of_document(text: bytes) -> Iterator[EventText]:
    """Yield the items of a JSON array. Any other text, even invalid JSON, is yielded as one event."""
    plain = repair_surrogates(text)  # keeps the length
    try:
        events = msgspec.json.decode(plain, type=list[msgspec.Raw])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        start = len(text) - len(text.lstrip())
        yield EventText(text.count(b"\n", 0, start) + 1, text, len(text))  # not an array: one event, or invalid JSON
        return
    yield from _array_items(text, plain, events)


def _array_items(text: bytes, plain: bytes, events: Iterable[msgspec.Raw]) -> Iterator[EventText]:
    line, end = 1, 0
    for event in map(bytes, events):
        start = plain.index(event, end)
        line += text.count(b"\n", end, start)
        end = start + len(event)
        yield EventText(line, text[start:end], end)
        line += event.count(b"\n")
