"""Is it the file that we know, and where does reading go on? Files grow, are renamed, cut off and written anew."""

from dataclasses import replace
from hashlib import blake2b
from typing import BinaryIO

from headwater.file_intake.file_forms import FilePlace
from headwater.file_intake.sources.file_source import FileSource, FoundFile
from headwater.file_intake.taken_ledger import TakenFile, TakenLedger

COMPARED = 512
"""Bytes by which a file is known again: at its beginning, and right before the place that it was read to."""


def digest(text: bytes) -> bytes:
    """Return what stands for some bytes of a file."""
    return blake2b(text, digest_size=16).digest()


def recognised(ledger: TakenLedger, source: FileSource, found: FoundFile, file: BinaryIO) -> TakenFile:
    """Return how far an opened file was taken: not at all for one that is new, or that was written anew."""
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
    """Tell whether a file is as it was when it was read to its end."""
    return known.ended and _is_unchanged(known, found)


def _is_unchanged(known: TakenFile, found: FoundFile) -> bool:
    return (known.size, known.modified_us, known.version) == (found.size, found.modified_us, found.version)


def _goes_on(known: TakenFile, found: FoundFile, file: BinaryIO) -> bool:
    """Tell whether what was read of a file is still in it; but for lines and gzip, all of it must be as it was."""
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
    """Tell by its beginning whether a file was begun anew while it was read: then its place is one in the new file.

    Where the place has versions, one reading is of one version.
    """
    return bool(found.version) or not known.head or _head(found, file) == known.head
