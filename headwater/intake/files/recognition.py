"""Recognizes a file and the position at which reading continues: files grow, are renamed, truncated and rewritten."""

from dataclasses import replace
from hashlib import blake2b
from typing import BinaryIO

from headwater.intake.files.file_forms import FilePlace
from headwater.intake.files.sources.file_source import FileSource, FoundFile
from headwater.intake.files.taken_ledger import TakenFile, TakenLedger

COMPARED = 512
"""Bytes by which a file is recognized: at its beginning, and right before the position to which it was read."""


def digest(text: bytes) -> bytes:
    """Return a digest of some bytes of a file."""
    return blake2b(text, digest_size=16).digest()


def recognize(ledger: TakenLedger, source: FileSource, found: FoundFile, file: BinaryIO) -> TakenFile:
    """Return how far an opened file was ingested; the beginning for a file that is new or was rewritten."""
    known = ledger.find(source.store, found.identity)
    if known and _goes_on(known, found, file):
        return replace(known, path=found.shown, head=known.head or _head(found, file))
    new = TakenFile(source.store, found.identity, found.shown, head=_head(found, file))
    if not new.head:
        return new
    for other in ledger.alike(source.store, new.head):
        if _goes_on(other, found, file):
            return replace(other, identity=found.identity, path=found.shown)
    return new


def _head(found: FoundFile, file: BinaryIO) -> bytes:
    if found.size < COMPARED:
        return b""
    file.seek(0)
    return digest(file.read(COMPARED))


def is_settled(known: TakenFile, found: FoundFile) -> bool:
    """Return whether a file is unchanged since it was read to its end."""
    return known.ended and _is_unchanged(known, found)


def _is_unchanged(known: TakenFile, found: FoundFile) -> bool:
    return (known.size, known.modified_us, known.version) == (found.size, found.modified_us, found.version)


def _goes_on(known: TakenFile, found: FoundFile, file: BinaryIO) -> bool:
    """Return whether a file still contains what was read of it; except for lines and gzip, it must be unchanged."""
    place = known.place
    if place.form == "lines":
        if found.size < place.position or not _begins_alike(known, found, file):
            return False
        file.seek(place.position - known.tail_bytes)
        return digest(file.read(known.tail_bytes)) == known.tail
    if place.form == "gzip" and found.size >= known.size and known.head:
        return _head(found, file) == known.head
    return place != FilePlace() and _is_unchanged(known, found)


def _begins_alike(known: TakenFile, found: FoundFile, file: BinaryIO) -> bool:
    """Return whether the beginning of a file is unchanged.

    If a file is rewritten while it is read, its position is one in the new file. A store with versions needs no check,
    because a file is read in one version.
    """
    return bool(found.version) or not known.head or _head(found, file) == known.head
