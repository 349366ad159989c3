"""Bodies from the log to events: redacted, digested, their datasets read; what recurs is worked out once."""

import re
from collections.abc import Sequence
from typing import Any

from msgspec import UNSET, Raw, UnsetType, msgpack

from headwater.errors import InvalidEvent
from headwater.events.decode import decode, repair_surrogates, repeats_keys
from headwater.events.envelope import Kind, check_utf8
from headwater.events.event import Content, Dataset, Event, Symlink
from headwater.events.facets import Memo, canonical, content_digests, digest_of, facet_digest
from headwater.events.redaction import redact, suspicious
from headwater.events.times import parse_time
from headwater.events.wire import Facets, WireEvent, read_wire_dataset, read_wire_event

EVENT_TYPES = frozenset({"START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER"})

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_TABLES = {"schema": "schemas", "columnLineage": "column_lineage", "lineage": "column_lineage"}
_NO_DATASET = Dataset(b"", "", "")


class EventReader:
    """Reads bodies into events and remembers facets and datasets by their text. One per parser, not thread-safe."""

    def __init__(self) -> None:
        """Start with nothing remembered."""
        self._digests: Memo[bytes] = Memo()
        self._contents: dict[str, Memo[Content]] = {key: Memo() for key in _TABLES}
        self._datasets: Memo[Dataset] = Memo()

    def read(self, bodies: Sequence[bytes]) -> list[Event | InvalidEvent]:
        """Read a batch, in order; what is no event stands in its place as the error that says why."""
        return [self._read_or_error(body, dirty) for body, dirty in zip(bodies, suspicious(bodies), strict=True)]

    def _read_or_error(self, body: bytes, dirty: bool) -> Event | InvalidEvent:
        try:
            return self._read(redacted(body) if dirty else body)
        except InvalidEvent as error:
            return error

    def _read(self, body: bytes) -> Event:
        check_utf8(body)
        text = repair_surrogates(body)
        wire, digest = read_wire_event(text)
        kind: Kind = "RUN" if wire.run is not UNSET else "JOB" if wire.job is not UNSET else "DATASET"
        inputs = self._read_datasets(wire.inputs)
        outputs = self._read_datasets([wire.dataset] if kind == "DATASET" else wire.outputs)
        run_facets = wire.run.facets if wire.run is not UNSET else UNSET
        job_facets = wire.job.facets if wire.job is not UNSET else UNSET
        declared = self._declared(run_facets) + self._declared(job_facets)
        parent, root = _parents(run_facets)
        event_time_us, time_flag = parse_time(wire.eventTime)
        return Event(
            id=digest or self._digest(wire, run_facets, job_facets, inputs, outputs),
            kind=kind,
            body=body,
            event_time_us=event_time_us,
            producer=wire.producer,
            event_type=wire.eventType or None,
            run_id=wire.run.runId if wire.run is not UNSET else None,
            job_namespace=wire.job.namespace if wire.job is not UNSET else None,
            job_name=wire.job.name if wire.job is not UNSET else None,
            parent_run_id=parent,
            root_run_id=root,
            inputs=tuple(dataset for dataset in inputs if dataset is not _NO_DATASET),
            outputs=tuple(dataset for dataset in outputs if dataset is not _NO_DATASET),
            lineage_hashes=tuple(content.content_hash for content in declared)
            + tuple(dataset.declared_hash for dataset in (*inputs, *outputs) if dataset.declared_hash),
            contents=declared,
            flags=_flags(wire, kind, time_flag, loose=digest is not None, repaired=text is not body)
            + (("dataset_unnamed",) if _NO_DATASET in inputs or _NO_DATASET in outputs else ()),
        )

    def _digest(
        self, wire: WireEvent, run_facets: Facets, job_facets: Facets, inputs: list[Dataset], outputs: list[Dataset]
    ) -> bytes:
        """Digest the canonical event: names and times as sent, keys sorted, facets and datasets by their digests."""
        parts = (
            wire.eventTime,
            wire.producer,
            wire.schemaURL or None,
            wire.eventType or None,
            wire.run.runId if wire.run is not UNSET else None,
            self._facet_digests(run_facets),
            (wire.job.namespace, wire.job.name) if wire.job is not UNSET else None,
            self._facet_digests(job_facets),
            [dataset.digest for dataset in inputs],
            [dataset.digest for dataset in outputs],
        )
        return digest_of(msgpack.encode(parts))

    def _read_datasets(self, raws: list[Raw] | UnsetType) -> list[Dataset]:
        found = []
        for raw in raws or ():
            text = bytes(raw)
            found.append(self._datasets.get(text) or self._read_dataset(text))
        return found

    def _read_dataset(self, raw: bytes) -> Dataset:
        read = read_wire_dataset(raw)
        if read is None:
            return _NO_DATASET
        wire, digest = read
        facets = wire.facets or {}
        contents = {key: self._content(key, facets[key]) for key in _TABLES if facets.get(key, b"null") != b"null"}
        hashes = {key: content.content_hash for key, content in contents.items()}
        parts = (wire.namespace, wire.name, *map(self._facet_digests, (facets, wire.inputFacets, wire.outputFacets)))
        dataset = Dataset(
            digest or digest_of(msgpack.encode(parts)),
            wire.namespace,
            wire.name,
            schema_hash=hashes.get("schema"),
            lineage_hash=hashes.get("columnLineage"),
            declared_hash=hashes.get("lineage"),
            symlinks=_symlinks(facets.get("symlinks")),
            facets=tuple(sorted({*facets, *(wire.inputFacets or ()), *(wire.outputFacets or ())})),
            contents=tuple(contents.values()),
        )
        if wire.inputFacets or wire.outputFacets:
            return dataset  # statistics of one run: this text never comes again
        return self._datasets.put(raw, dataset)

    def _content(self, key: str, raw: Raw) -> Content:
        text, known = bytes(raw), self._contents[key]
        return known.get(text) or known.put(text, self._new_content(key, text))

    def _new_content(self, key: str, raw: bytes) -> Content:
        digest, content_hash = content_digests(key, raw)
        self._digests.put(raw, digest)
        return Content(_TABLES[key], content_hash, key, raw)

    def _declared(self, facets: Facets) -> tuple[Content, ...]:
        raw = (facets or {}).get("lineage")
        return (self._content("lineage", raw),) if raw and raw != b"null" else ()

    def _facet_digests(self, facets: Facets) -> list[tuple[str, bytes]]:
        if not facets:
            return []
        found = []
        for key in sorted(facets):
            raw = bytes(facets[key])
            found.append((key, self._digests.get(raw) or self._digests.put(raw, facet_digest(raw))))
        return found


def redacted(body: bytes) -> bytes:
    """Return the body without secrets: the very same text where there are none, else encoded anew.

    A repeated key hides its first values from decoding, so text that has one is encoded anew as well.
    """
    value = decode(body)
    clean = redact(value)
    return body if clean is value and not repeats_keys(body, value) else canonical(clean)


def _parents(facets: Facets) -> tuple[str | None, str | None]:
    raw = (facets or {}).get("parent")
    parent = decode(bytes(raw)) if raw else None
    return _at(parent, "run", "runId"), _at(parent, "root", "run", "runId")


def _symlinks(raw: Raw | None) -> tuple[Symlink, ...]:
    value = decode(bytes(raw)) if raw else None
    identifiers = value.get("identifiers") if isinstance(value, dict) else None
    names = [(_at(item, "namespace"), _at(item, "name"), _at(item, "type")) for item in _list(identifiers)]
    return tuple(Symlink(namespace, name, type_) for namespace, name, type_ in names if namespace is not None and name)


def _flags(wire: WireEvent, kind: Kind, time_flag: str | None, *, loose: bool, repaired: bool) -> tuple[str, ...]:
    flags = [time_flag] if time_flag else []
    if kind == "RUN":
        if wire.run is not UNSET and not _UUID.fullmatch(wire.run.runId):
            flags.append("run_id_not_uuid")
        if wire.eventType not in EVENT_TYPES:
            flags.append("event_type_unknown" if wire.eventType else "event_type_missing")
    if not wire.schemaURL:
        flags.append("schema_url_missing")
    elif not wire.schemaURL.startswith("http"):
        flags.append("schema_url_vendor")
    if loose:
        flags.append("odd_shape")
    if repaired:
        flags.append("lone_surrogate")
    return tuple(flags)


def _at(value: Any, *path: str) -> str | None:
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    return value if isinstance(value, str) else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
