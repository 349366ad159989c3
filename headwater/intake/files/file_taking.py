"""Ingests new events of files. The receiver acknowledges a batch before the positions in the files are stored.

Files grow, are renamed, truncated and rewritten. So a file is recognized by its first bytes, and by the bytes before
the position to which it was read.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from typing import Any, BinaryIO

from headwater.common.errors import HeadwaterError, InvalidEvent, Retry, WrongSetting
from headwater.common.failpoints import reach_failpoint
from headwater.events.envelope import read_envelope
from headwater.events.transport_losses import loss_event
from headwater.intake.files.batch_sending import BATCH, BATCH_BYTES, BatchSender
from headwater.intake.files.file_forms import FileEvent, FilePlace, GetClaim, UnknownFileFormat, read_file_events
from headwater.intake.files.sources.file_source import FileGone, FileSource, FoundFile
from headwater.intake.files.taken_ledger import FilePosition, IngestLedger

COMPARED = 512
"""Number of bytes by which a file is recognized: at its beginning, and before the position to which it was read."""


def digest_of_bytes(text: bytes) -> bytes:
    """Return a digest of some bytes of a file."""
    return blake2b(text, digest_size=16).digest()


def find_file_position(ledger: IngestLedger, source: FileSource, found: FoundFile, file: BinaryIO) -> FilePosition:
    """Return how far an opened file was ingested.

    If the file is new or was rewritten, return the position of its beginning.
    """
    known = ledger.find(source.store, found.identity)
    if known and _is_continuation(known, found, file):
        return replace(known, path=found.printable_path, head=known.head or _read_head(found, file))
    new = FilePosition(source.store, found.identity, found.printable_path, head=_read_head(found, file))
    if not new.head:
        return new
    for other in ledger.find_by_beginning(source.store, new.head):
        if _is_continuation(other, found, file):
            return replace(other, identity=found.identity, path=found.printable_path)
    return new


def _read_head(found: FoundFile, file: BinaryIO) -> bytes:
    if found.size < COMPARED:
        return b""
    file.seek(0)
    return digest_of_bytes(file.read(COMPARED))


def is_read_to_end(known: FilePosition, found: FoundFile) -> bool:
    """Return whether a file is unchanged since it was read to its end."""
    return known.ended and _is_unchanged(known, found)


def _is_unchanged(known: FilePosition, found: FoundFile) -> bool:
    return (known.size, known.modified_us, known.version) == (found.size, found.modified_us, found.version)


def _is_continuation(known: FilePosition, found: FoundFile, file: BinaryIO) -> bool:
    """Return whether a file still contains the part that was read before.

    Files with lines and gzip files may have grown. Files of other formats must be unchanged.
    """
    place = known.place
    if place.form == "lines":
        if found.size < place.position or not _has_same_beginning(known, found, file):
            return False
        file.seek(place.position - known.tail_bytes)
        return digest_of_bytes(file.read(known.tail_bytes)) == known.tail
    if place.form == "gzip" and found.size >= known.size and known.head:
        return _read_head(found, file) == known.head
    return place != FilePlace() and _is_unchanged(known, found)


def _has_same_beginning(known: FilePosition, found: FoundFile, file: BinaryIO) -> bool:
    """Return whether the beginning of a file is unchanged.

    The check finds files that were rewritten while they were read, because their stored position belongs to the new
    content. It is not needed for stores with versions, because all reads of a file use one version.
    """
    return bool(found.version) or not known.head or _read_head(found, file) == known.head


TORN_US = 24 * 3600 * 1_000_000
"""If a file has not changed for this time (us), its incomplete end is rejected, as no producer will complete it."""
_SETTLED = 500_000
"""Maximum number of files that are recognized as unchanged without reading the ledger.

Each needs about 70 bytes of memory.
"""
MOST_REJECTED = 1000
"""Maximum number of lines in a file that are not events.

Further lines are not read, because the file has other data.
"""
_REASONS = 20
_SHOWN = 64 << 10
"""Maximum bytes of a rejected line that are sent to the receiver. The whole line can be looked up in its file."""


@dataclass
class IngestReport:
    """Counts of files and events, and the reasons why some were not ingested.

    files: number of checked files. unchanged: files without new events. events: ingested events. losses: ingested
    events in which a transport reports losses. rejected: lines that are not events, which are stored in table
    `rejected`. refused: events and lines that the receiver refused, which are not in the lake. waiting: files with an
    incomplete end. unreadable: files that could not be read at all. stopped: files that were not read to their end,
    because too many lines are not events. deleted: deleted files. reasons: why events were not ingested. torn: a text
    for each file with an incomplete end.
    """

    files: int = 0
    unchanged: int = 0
    events: int = 0
    losses: int = 0
    rejected: int = 0
    refused: int = 0
    waiting: int = 0
    unreadable: int = 0
    stopped: int = 0
    deleted: int = 0
    reasons: list[str] = field(default_factory=list)
    torn: list[str] = field(default_factory=list)

    def add_reason(self, reason: str) -> None:
        """Add a reason, unless the report has too many reasons."""
        if len(self.reasons) < _REASONS and reason not in self.reasons:
            self.reasons.append(reason)

    def add_file_reason(self, reason: str) -> None:
        """Add a reason that concerns a whole file at the beginning of the list.

        If the list is full, the last reason is dropped.
        """
        if reason not in self.reasons:
            self.reasons.insert(0, reason)
            del self.reasons[_REASONS:]

    @property
    def is_complete(self) -> bool:
        """Whether all complete events are in the lake."""
        return not (self.rejected or self.refused or self.unreadable or self.stopped)

    def count_incomplete_file(self, known: FilePosition) -> None:
        """Count a file with an incomplete end."""
        self.waiting += 1
        if len(self.torn) < _REASONS:
            self.torn.append(
                f"{known.path}: the end after line {known.place.line} is incomplete; it is rejected after a day"
            )

    def begin_pass(self) -> None:
        """Reset the counts that apply to one pass over the files."""
        self.files = self.unchanged = self.waiting = 0
        self.torn.clear()

    def as_json(self) -> dict[str, Any]:
        """Return the counts and reasons for an answer."""
        found = asdict(self)
        found["reasons"] += found.pop("torn")
        return found


@dataclass(frozen=True)
class DeletionLimits:
    """Limits for the deletion of ingested files.

    A file may be deleted if its events were acknowledged before both times, which are by the clock of this machine
    (us). rested_us: files stay for some time after their ingestion. in_bronze_us: every event that was acknowledged
    before this time is in bronze.
    """

    rested_us: int
    in_bronze_us: int


class FileIngester:
    """Ingests files into one receiver."""

    def __init__(
        self,
        ledger: IngestLedger,
        sender: BatchSender,
        claim: GetClaim,
        on_batch: Callable[[IngestReport], None],
        max_rejected: int = MOST_REJECTED,
    ) -> None:
        """Create an ingester that has read nothing yet.

        ledger: stores how far each file was ingested. claim: returns a large body by its key. on_batch: called after
        each batch with the counts so far. max_rejected: number of lines in a file that are not events, after which the
        rest of the file is not read.
        """
        self._ledger = ledger
        self._sender = sender
        self._claim = claim
        self._on_batch = on_batch
        self._most_rejected = max_rejected
        self.done = IngestReport()
        self._refused: set[tuple[str, str]] = set()
        self._settled: set[int] = set()  # hashes of listed files; any change of a file changes its hash
        self._undeletable: HeadwaterError | None = None
        self._reset_batch()

    def _reset_batch(self) -> None:
        self._events: list[bytes] = []
        self._size = 0
        self._of: list[tuple[tuple[str, str], int]] = []
        self._bad: list[tuple[tuple[str, str], int, bytes]] = []
        self._reached: dict[tuple[str, str], FilePosition] = {}

    def ingest(self, sources: Sequence[FileSource], since_us: int = 0, deletion: DeletionLimits | None = None) -> None:
        """Ingest new events of the files that were modified at or after a time (us since 1970, UTC).

        deletion: limits for deleting ingested files, or None to delete none. If a deletion fails, the error is raised
        after all files were ingested. After a Retry or WrongSetting, the method may be called again.
        """
        self.done.begin_pass()
        self._undeletable = None
        self._reset_batch()
        for source in sources:
            for found in source.files(since_us):
                self._check_file(source, found, deletion)
        self._send_batch()
        self._refused.clear()  # they are in the ledger now
        if self._undeletable:
            raise self._undeletable

    def _check_file(self, source: FileSource, found: FoundFile, deletion: DeletionLimits | None) -> None:
        self.done.files += 1
        if deletion is None and hash((source.store, found)) in self._settled:
            self.done.unchanged += 1
            return
        known = self._ledger.find(source.store, found.identity)
        if known and is_read_to_end(known, found) and not _is_rest_skipped(known, found):
            self._keep_or_delete_unchanged(source, found, known, deletion)
        else:
            self._ingest_file(source, found)

    def _keep_or_delete_unchanged(
        self, source: FileSource, found: FoundFile, known: FilePosition, deletion: DeletionLimits | None
    ) -> None:
        self.done.unchanged += 1
        if known.torn:
            self.done.count_incomplete_file(known)
        else:
            self._remember_file(source, found)
        is_over = deletion and 0 < known.taken_us < min(deletion.rested_us, deletion.in_bronze_us)
        if is_over and not known.torn and not known.refused and self._delete_file(source, found):
            self._ledger.delete_position(known)
            self.done.deleted += 1

    def _remember_file(self, source: FileSource, found: FoundFile) -> None:
        if len(self._settled) >= _SETTLED:
            self._settled.clear()  # most of them may no longer exist
        self._settled.add(hash((source.store, found)))

    def _delete_file(self, source: FileSource, found: FoundFile) -> bool:
        """Delete a file, and return whether it was deleted.

        After a deletion has failed, no other deletion is tried in the same pass.
        """
        if self._undeletable:
            return False
        try:
            return source.delete(found)
        except (Retry, WrongSetting) as error:
            self._undeletable = error
            return False

    def _ingest_file(self, source: FileSource, found: FoundFile) -> None:
        try:
            with source.open(found) as file:
                known = find_file_position(self._ledger, source, found, file)
                seen = replace(known, size=found.size, modified_us=found.modified_us, version=found.version)
                self._read_events(found, seen, read_file_events(file, known.place, self._claim))
        except FileGone:
            return
        except UnknownFileFormat as error:
            self._skip_file(found, str(error))
            self._advance_position(
                FilePosition(source.store, found.identity, found.printable_path, *found[2:], ended=True, refused=True)
            )
        except OSError as error:
            self._skip_file(found, f"it cannot be read: {error.strerror or error}")

    def _skip_file(self, found: FoundFile, why: str) -> None:
        reason = f"{found.printable_path}: {why}"
        self.done.unreadable += reason not in self.done.reasons  # counted once, not in each pass
        self.done.add_reason(reason)

    def _read_events(self, found: FoundFile, reached: FilePosition, pieces: Iterator[FileEvent]) -> None:
        reached = replace(reached, ended=False, torn=False)
        rejected = 0
        for piece in pieces:
            if rejected >= self._most_rejected:
                self._stop_reading_file(reached, rejected)
                return
            if not piece.is_complete and not _is_no_longer_written(found):
                self.done.count_incomplete_file(reached)
                reached = replace(reached, torn=True)
                break
            reached = _position_after(reached, piece)
            rejected += not self._add_to_batch(reached, piece)
        self._advance_position(replace(reached, ended=True))

    def _stop_reading_file(self, reached: FilePosition, rejected: int) -> None:
        """Leave the rest of a file unread until the file changes.

        The file is marked like files with refused events, so that it is not deleted.
        """
        self.done.stopped += 1
        self.done.add_file_reason(
            f"{reached.path}: {rejected:,} of its lines are not events, so it is not read after line "
            f"{reached.place.line}. Move it out of the folder, or change it and run `headwater ingest` with a larger "
            "--max-rejected."
        )
        self._advance_position(replace(reached, ended=True, refused=True))

    def _add_to_batch(self, reached: FilePosition, piece: FileEvent) -> bool:
        """Add a piece of a file to the batch. Return whether the piece is an event."""
        key = reached.store, reached.identity
        text = piece.text.strip()
        lost = loss_event(text)
        try:
            read_envelope(lost or text)
        except InvalidEvent:
            self._bad.append((key, piece.line, text[:_SHOWN]))
            is_event = False
        else:
            is_event = True
            self._events.append(lost or text)
            self._of.append((key, piece.line))
            self._size += len(text)
            self.done.losses += lost is not None
        self._advance_position(reached)
        return is_event

    def _advance_position(self, reached: FilePosition) -> None:
        """Record how far a file was read, and send the batch if it is full."""
        self._reached[reached.store, reached.identity] = reached
        count = max(len(self._events), len(self._bad), len(self._reached) // 2)
        if count >= BATCH or self._size >= BATCH_BYTES:
            self._send_batch()

    def _send_batch(self) -> None:
        """Send the batch, then store the positions of its files.

        If the process is killed between both steps, the batch is sent again, and the parser recognizes the duplicates.
        """
        reach_failpoint("ingest.read")
        refused = self._sender.send(self._events)
        for index, reason in refused.items():
            self._record_refusal(*self._of[index], reason)
        for key, line, text in self._bad:
            reason_of_bad = self._sender.send_rejected_line(text, self._reached[key].path, line)
            if reason_of_bad is None:
                self.done.rejected += 1
                self.done.add_reason(f"{self._reached[key].path}:{line}: not an event; see `headwater rejected`")
            else:
                self._record_refusal(key, line, reason_of_bad)
        self.done.events += len(self._events) - len(refused)
        reach_failpoint("ingest.answered")
        now_us, some = time.time_ns() // 1000, self._refused
        self._ledger.store_positions(
            replace(each, taken_us=now_us, refused=each.refused or key in some) for key, each in self._reached.items()
        )
        reach_failpoint("ingest.kept")
        self._reset_batch()
        self._on_batch(self.done)

    def _record_refusal(self, key: tuple[str, str], line: int, reason: str) -> None:
        self.done.refused += 1
        self.done.add_reason(f"{self._reached[key].path}:{line}: {reason}")
        self._refused.add(key)


def _position_after(reached: FilePosition, piece: FileEvent) -> FilePosition:
    tail = piece.text[-COMPARED:] if piece.next_place.form == "lines" else b""
    return replace(reached, place=piece.next_place, tail=digest_of_bytes(tail), tail_bytes=len(tail))


def _is_no_longer_written(found: FoundFile) -> bool:
    return found.modified_us + TORN_US < time.time_ns() // 1000


def _is_rest_skipped(known: FilePosition, found: FoundFile) -> bool:
    return known.torn and _is_no_longer_written(found)
