"""Bodies from the log to events: redacted, digested, their datasets read; what recurs is worked out once."""

import re
from collections.abc import Sequence

from msgspec import UNSET, Raw, UnsetType, msgpack

from headwater.errors import InvalidEvent
from headwater.events.decode import decode, repair_surrogates, repeats_keys
from headwater.events.envelope import Kind, check_utf8
from headwater.events.event import Dataset, Event
from headwater.events.facet_sets import NO_FACETS, FacetReader, FacetSet, statistics
from headwater.events.facets import Memo, canonical, digest_of
from headwater.events.redaction import redact, suspicious
from headwater.events.times import parse_time
from headwater.events.wire import WireEvent, read_wire_dataset, read_wire_event

EVENT_TYPES = frozenset({"START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER"})

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_NO_DATASET = Dataset(b"", "", "")


class EventReader:
    """Reads bodies into events and remembers facets and datasets by their text. One per parser, not thread-safe."""

    def __init__(self) -> None:
        """Start with nothing remembered."""
        self._facets = FacetReader()
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
        run = self._facets.of_run(wire.run.facets) if wire.run is not UNSET else NO_FACETS
        job = self._facets.recurring(wire.job.facets) if wire.job is not UNSET else NO_FACETS
        event_time_us, time_flag = parse_time(wire.eventTime)
        flags = _flags(wire, kind, time_flag, loose=digest is not None, repaired=text is not body)
        if _NO_DATASET in inputs or _NO_DATASET in outputs:
            flags = (*flags, "dataset_unnamed")
            inputs, outputs = _named(inputs), _named(outputs)
        return Event(
            id=digest or _digest(wire, run, job, inputs, outputs),
            kind=kind,
            body=body,
            event_time_us=event_time_us,
            producer=wire.producer,
            event_type=wire.eventType or None,
            run_id=wire.run.runId if wire.run is not UNSET else None,
            job_namespace=wire.job.namespace if wire.job is not UNSET else None,
            job_name=wire.job.name if wire.job is not UNSET else None,
            parent_run_id=run.parent,
            root_run_id=run.root,
            inputs=tuple(inputs),
            outputs=tuple(outputs),
            lineage_hashes=_declared(run, job, inputs, outputs),
            contents=run.contents + job.contents,
            flags=flags,
        )

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
        facets = self._facets.recurring(wire.facets)
        read_of, written_of = statistics(wire.inputFacets), statistics(wire.outputFacets)
        parts = (wire.namespace, wire.name, facets.digest, read_of.digest, written_of.digest)
        dataset = Dataset(
            digest or digest_of(msgpack.encode(parts)),
            wire.namespace,
            wire.name,
            schema_hash=facets.content_hash("schema"),
            lineage_hash=facets.content_hash("columnLineage"),
            declared_hash=facets.content_hash("lineage"),
            symlinks=facets.symlinks,
            facets=tuple(sorted({*facets.names, *read_of.names, *written_of.names})),
            contents=facets.contents,
        )
        if wire.inputFacets or wire.outputFacets:
            return dataset  # statistics of one run: this text never comes again
        return self._datasets.put(raw, dataset)


def _digest(wire: WireEvent, run: FacetSet, job: FacetSet, inputs: list[Dataset], outputs: list[Dataset]) -> bytes:
    """Digest the canonical event: names and times as sent, keys sorted, facets and datasets by their digests."""
    parts = (
        wire.eventTime,
        wire.producer,
        wire.schemaURL or None,
        wire.eventType or None,
        wire.run.runId if wire.run is not UNSET else None,
        run.digest,
        (wire.job.namespace, wire.job.name) if wire.job is not UNSET else None,
        job.digest,
        [dataset.digest for dataset in inputs],
        [dataset.digest for dataset in outputs],
    )
    return digest_of(msgpack.encode(parts))


def _named(datasets: list[Dataset]) -> list[Dataset]:
    return [dataset for dataset in datasets if dataset is not _NO_DATASET]


def _declared(run: FacetSet, job: FacetSet, inputs: list[Dataset], outputs: list[Dataset]) -> tuple[str, ...]:
    """Collect the hashes of `lineage` facets; nearly every event has none."""
    found = [facets.content_hash("lineage") for facets in (run, job) if facets.contents]
    found += [dataset.declared_hash for dataset in inputs if dataset.declared_hash]
    found += [dataset.declared_hash for dataset in outputs if dataset.declared_hash]
    return tuple(content_hash for content_hash in found if content_hash)


def redacted(body: bytes) -> bytes:
    """Return the body without secrets: the very same text where there are none, else encoded anew.

    A repeated key hides its first values from decoding, so text that has one is encoded anew as well.
    """
    value = decode(body)
    clean = redact(value)
    return body if clean is value and not repeats_keys(body, value) else canonical(clean)


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
