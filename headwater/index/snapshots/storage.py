"""The folder of snapshots in the lake, `LAKE/index/KEY/`, with a key for each format and version of the rules.

`0000000007.json` is the manifest of a snapshot, and the folder `0000000007-…/` contains its pieces. `0000000007.claim`
marks a snapshot in progress. A manifest is written only once, after all pieces of the snapshot. An interrupted upload
therefore leaves no snapshot.
"""

import secrets
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta, Struct

from headwater.common.failpoints import reach_failpoint
from headwater.lake.bronze_follower import Progress
from headwater.lake.maintenance import remove_temporary_files
from headwater.lake.object_store import ObjectStore, StoredFile

PIECE_BYTES = 4 << 20
"""Uncompressed bytes of the index in each piece of a snapshot. The last piece is smaller."""

Position = tuple[str, str, int]
"""Log epoch, partition, and the newest sequence that the index has processed."""


class SnapshotPiece(Struct, frozen=True):
    """A file of a snapshot: its size in bytes and its hexadecimal SHA-256."""

    size: Annotated[int, Meta(gt=0, le=2 * PIECE_BYTES)]
    sha256: str


class Manifest(Struct, frozen=True, kw_only=True):
    """The manifest of one snapshot.

    format: the format of the index file. rules: the hash of the rules that built the index. number: the number of the
    snapshot. folder: the name of the folder with the pieces, next to the manifest. made_us: when the snapshot was made
    (us, UTC), by the clock of the machine that made it. generation, positions: the newest generation of the index and
    its position in bronze. lake: the id of table `events`. events: the number of rows of `events` that the index has
    processed, including rows that were removed since. forgotten: the hash of the erasures from the lake when the index
    was started. size: the size of the index file in bytes.
    """

    format: int
    rules: str
    number: int
    folder: Annotated[str, Meta(pattern=r"^[0-9]{10}-[0-9a-f]{16}$")]
    made_us: int
    generation: int
    positions: list[Position]
    lake: str
    events: int
    forgotten: str
    size: Annotated[int, Meta(gt=0)]
    pieces: list[SnapshotPiece]

    @property
    def progress(self) -> Progress:
        """The newest sequence that the snapshot contains, by (log epoch, partition)."""
        return {(epoch, partition): sequence for epoch, partition, sequence in self.positions}

    def has_all_pieces(self) -> bool:
        """Return whether the number of pieces fits the size of the index."""
        return len(self.pieces) == -(-self.size // PIECE_BYTES)


def parse_manifest(text: bytes) -> Manifest | None:
    """Return the manifest in a text, or None if it is invalid: truncated, changed, or from an incompatible release."""
    try:
        found = msgspec.json.decode(text, type=Manifest)
    except msgspec.DecodeError:
        return None
    return found if found.has_all_pieces() else None


def manifest_json(manifest: Manifest) -> bytes:
    """Return a manifest as JSON."""
    return msgspec.json.encode(manifest)


FOLDER = "index"
FORGOTTEN = "forgotten"
"""The folder of receipts from `headwater forget`, which writes a receipt before it erases data and again afterwards."""

MAX_SNAPSHOTS = 3
_ABANDONED_US = 900_000_000
"""Claims, and pieces without a manifest, are abandoned if they are older than this (15 min, in us)."""
_OTHER_RULES_US = 7 * 86_400_000_000
"""All snapshots of other rules are deleted when the newest snapshot of these rules is older than this (7 days, in us).

Until then, they are kept for a return to an older release.
"""


class SnapshotStore:
    """The snapshots with one key. Every method raises LakeUnavailable."""

    def __init__(self, store: ObjectStore, key: str):
        """key: the stem of the index's file name, which contains the format and the hash of the rules."""
        self._store = store
        self._folder = f"{FOLDER}/{key}"

    def manifests_newest_first(self) -> Iterator[Manifest | None]:
        """Yield the manifests, newest first. Yields None for a manifest that cannot be read."""
        numbers = sorted(_snapshot_numbers(self._store.files(self._folder), ".json"), reverse=True)
        for number in numbers:
            text = self._store.read(f"{self._folder}/{number:010}.json")
            yield parse_manifest(text) if text is not None else None

    def newest_manifest(self) -> Manifest | None:
        """Return the newest manifest that can be read, or None."""
        return next((manifest for manifest in self.manifests_newest_first() if manifest), None)

    def read_piece(self, manifest: Manifest, number: int) -> bytes | None:
        """Return a piece of a snapshot, or None if it is missing."""
        return self._store.read(f"{self._folder}/{manifest.folder}/{number:05}.lz4")

    def erasures_hash(self) -> str:
        """Return a hash of all erasures that `headwater forget` has started or finished in this lake, "" if none."""
        receipts = [(each.name, each.size) for each in self._store.files(FORGOTTEN)]
        return sha256(repr(receipts).encode()).hexdigest() if receipts else ""

    def claim_next(self) -> "Claim | None":
        """Claim the number of the next snapshot for this process.

        Returns None if another process has a claim that is younger than 15 minutes.
        """
        files = self._store.files(self._folder)
        number = max((*_snapshot_numbers(files, ".json"), 0)) + 1
        name = f"{self._folder}/{number:010}.claim"
        own = secrets.token_hex(8)
        if not self._store.create(name, own.encode()):
            held = next((each for each in files if each.name == name), None)
            if held is None or self._store_clock_us(own) - held.at_us < _ABANDONED_US:
                return None
            self._store.delete([name])
            if not self._store.create(name, own.encode()):
                return None
        return Claim(number, f"{number:010}-{own}")

    def upload_piece(self, claim: "Claim", number: int, content: bytes) -> None:
        """Upload a piece of the claimed snapshot. number: the number of the piece, from 0."""
        self._store.create(f"{self._folder}/{claim.folder}/{number:05}.lz4", content)
        reach_failpoint("snapshot.after_piece")

    def publish_manifest(self, claim: "Claim", manifest: Manifest) -> bool:
        """Publish the snapshot by writing its manifest. Return whether this succeeded.

        If another process has published a snapshot with this number, the claim and its pieces are deleted.
        """
        reach_failpoint("snapshot.before_manifest")
        done = self._store.create(f"{self._folder}/{claim.number:010}.json", manifest_json(manifest))
        reach_failpoint("snapshot.after_manifest")
        if not done:
            self.release_claim(claim)
        return done

    def release_claim(self, claim: "Claim") -> None:
        """Delete the claim and its pieces, so that another process can make the snapshot."""
        self._store.delete([each.name for each in self._store.files(f"{self._folder}/{claim.folder}")])
        self._store.delete([f"{self._folder}/{claim.number:010}.claim"])

    def delete_unused(self, erasures_hash: str) -> None:
        """Delete older snapshots, abandoned pieces and claims, and snapshots that may contain erased data.

        Manifests are deleted before their pieces, so that each remaining manifest is complete. Call this only after
        a snapshot was published. erasures_hash: the current result of `erasures_hash`.
        """
        files = self._store.files(FOLDER)
        now_us = max((each.at_us for each in files), default=0)
        own = [each for each in files if each.name.startswith(f"{self._folder}/")]
        kept = sorted(_snapshot_numbers(own, ".json"), reverse=True)[:MAX_SNAPSHOTS]
        manifests = {each.number: each for each in self.manifests_newest_first() if each}
        kept = [number for number in kept if number in manifests and manifests[number].forgotten == erasures_hash]
        folders = {manifests[number].folder for number in kept}
        deleted = [each for each in own if not _is_in_use(each, kept, folders, now_us)]
        others: dict[str, list[StoredFile]] = {}
        for each in files:
            others.setdefault(each.name.split("/")[1], []).append(each)
        others.pop(self._folder.partition("/")[2], None)
        for of_other in others.values():
            if now_us - max(each.at_us for each in of_other) > _OTHER_RULES_US:
                deleted += of_other
        self._store.delete([each.name for each in sorted(deleted, key=lambda each: not each.name.endswith(".json"))])
        remove_temporary_files(f"{self._store.address}/{FOLDER}", _ABANDONED_US / 3_600_000_000)

    def _store_clock_us(self, own: str) -> int:
        """Return the current time (us, UTC) by the store's clock, which also sets the times of files.

        own: a text that is unique to this claim, for the name of a temporary file.
        """
        name = f"{self._folder}/{own}.clock"
        self._store.create(name, b"")
        found = next((each.at_us for each in self._store.files(self._folder) if each.name == name), 0)
        self._store.delete([name])
        return found


class Claim(NamedTuple):
    """The number of a snapshot in progress, and the folder of its pieces, which is unique to this claim."""

    number: int
    folder: str


def _snapshot_numbers(files: Sequence[StoredFile], suffix: str) -> list[int]:
    names = [each.name.rpartition("/")[2] for each in files if each.name.count("/") == 2]
    return [int(name.removesuffix(suffix)) for name in names if name.endswith(suffix) and name[:10].isdigit()]


def _is_in_use(file: StoredFile, kept: Sequence[int], folders: set[str], now_us: int) -> bool:
    name = file.name.split("/")[2]
    if name.endswith(".json"):
        return name[:10].isdigit() and int(name[:10]) in kept
    if name in folders:
        return True
    number = int(name[:10]) if name[:10].isdigit() else 0
    return number > max(kept, default=0) and now_us - file.at_us < _ABANDONED_US
