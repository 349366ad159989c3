"""Decodes the wire format of an event: typed members, and facets as raw text.

Strict decoding accepts exactly the members of spec 2-0-2, and takes 10 us for 10 KB. Events with additional members or
other types are decoded loosely: the known parts are read, and the rest stays in the body and in the digest.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from headwater.events.decode import decode
from headwater.events.envelope import read_envelope
from headwater.events.facet_digests import canonical_json, digest_of

NULL = Raw(b"null")
"""A constant, because `Raw` never equals `bytes`."""

_NONE = Raw(b"")
_BRACE = ord("{")


class WireDataset(msgspec.Struct, forbid_unknown_fields=True):
    """A dataset: `InputDataset`, `OutputDataset` or `StaticDataset`."""

    namespace: str
    name: str
    facets: Raw = _NONE
    inputFacets: Raw = _NONE  # noqa: N815 - the name on the wire
    outputFacets: Raw = _NONE  # noqa: N815


class WireRun(msgspec.Struct, forbid_unknown_fields=True):
    """The run of a RunEvent."""

    runId: str  # noqa: N815
    facets: Raw = _NONE


class WireJob(msgspec.Struct, forbid_unknown_fields=True):
    """The job of a RunEvent or JobEvent."""

    namespace: str
    name: str
    facets: Raw = _NONE


class WireEvent(msgspec.Struct, forbid_unknown_fields=True):
    """A RunEvent, JobEvent or DatasetEvent."""

    eventTime: str  # noqa: N815
    producer: str
    schemaURL: str | UnsetType | None = UNSET  # noqa: N815
    eventType: str | UnsetType | None = UNSET  # noqa: N815
    run: WireRun | UnsetType = UNSET
    job: WireJob | UnsetType = UNSET
    dataset: Raw = _NONE
    inputs: list[Raw] | UnsetType = UNSET
    outputs: list[Raw] | UnsetType = UNSET


_event = msgspec.json.Decoder(WireEvent)
_dataset = msgspec.json.Decoder(WireDataset)
_ODD = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def read_wire_event(body: bytes) -> tuple[WireEvent, bytes | None]:
    """Decode an event. Returns (event, digest).

    The digest is None if strict decoding succeeded. If the event was decoded loosely, it is the digest of the whole
    event.

    Raises InvalidEvent if it is not an event.
    """
    try:
        event = _event.decode(body)
        if _has_shape_of_its_type(event):
            return event, None
    except _ODD:
        pass
    read_envelope(body)  # raises an explained error if loose decoding cannot succeed either
    value = decode(body)
    return _loose_event(value), digest_of(canonical_json(value))


def read_wire_dataset(raw: bytes) -> tuple[WireDataset, bytes | None] | None:
    """Decode a dataset. Returns (dataset, digest), or None if the dataset lacks namespace or name.

    The digest is None if strict decoding succeeded. If the dataset was decoded loosely, it is the digest of the whole
    dataset.
    """
    try:
        dataset = _dataset.decode(raw)
        if _are_facets(dataset.facets) and _are_facets(dataset.inputFacets) and _are_facets(dataset.outputFacets):
            return dataset, None
    except _ODD:
        pass
    value = decode(raw)
    if not isinstance(value, dict) or not (_text(value.get("namespace")) and _text(value.get("name"))):
        return None
    facets = {part: _loose_facets(value.get(part)) for part in ("facets", "inputFacets", "outputFacets")}
    return WireDataset(value["namespace"], value["name"], **facets), digest_of(canonical_json(value))


def _has_shape_of_its_type(event: WireEvent) -> bool:
    run, job, dataset = event.run, event.job, event.dataset
    if dataset:
        return run is UNSET and job is UNSET
    if not (job and job.namespace and job.name and _are_facets(job.facets)):
        return False
    return run is UNSET or bool(run and run.runId and _are_facets(run.facets))


def _are_facets(raw: Raw) -> bool:
    return not raw or memoryview(raw)[0] == _BRACE or raw == NULL


def _loose_event(value: Mapping[str, Any]) -> WireEvent:
    run, job, dataset = value.get("run"), value.get("job"), value.get("dataset")
    return WireEvent(
        eventTime=value["eventTime"],
        producer=value["producer"],
        schemaURL=_text(value.get("schemaURL")),
        eventType=_text(value.get("eventType")),
        run=WireRun(run["runId"], _loose_facets(run.get("facets"))) if run else UNSET,
        job=WireJob(job["namespace"], job["name"], _loose_facets(job.get("facets"))) if job else UNSET,
        dataset=Raw(canonical_json(dataset)) if isinstance(dataset, dict) else Raw(b""),
        inputs=_loose_datasets(value.get("inputs")),
        outputs=_loose_datasets(value.get("outputs")),
    )


def _loose_facets(value: Any) -> Raw:
    return Raw(canonical_json(value)) if isinstance(value, dict) else _NONE


def _loose_datasets(value: Any) -> list[Raw]:
    return [Raw(canonical_json(item)) for item in value] if isinstance(value, list) else []


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
