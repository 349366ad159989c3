"""A stored event to a part: names in canonical form, facets by their content; what recurs is worked out once."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, Raw

from headwater.events.decode import decode, repair_surrogates
from headwater.events.event import Content
from headwater.events.facet_sets import FacetReader, FacetSet, text_at
from headwater.events.facets import Memo
from headwater.events.rows import content_rows
from headwater.events.times import parse_time
from headwater.events.wire import NULL, WireDataset, WireEvent, WireRun, read_wire_dataset, read_wire_event
from headwater.lineage.contents import Canonical, Contents, is_noise, schema_columns, sent_edges
from headwater.lineage.jobs import job_key, run_key
from headwater.lineage.name import Name
from headwater.lineage.part import DELETED, Mention, Part, Symlink, Tag

Facets = dict[str, Raw]

_members = msgspec.json.Decoder(dict[str, Raw])
_PROVES_ROWS = ("outputStatistics",)
_TAIL = 1024
"""Characters at the end of an output in which what a run counted is looked for."""


class Parent(NamedTuple):
    """What a `parent` facet says: the run that its run is part of (root run, else parent), and the parent's job."""

    execution: str | None
    job: Name | None


_NO_PARENT = Parent(None, None)


class _JobFacets(NamedTuple):
    """What the facets of a job say: how it processes, whether by whole snapshots, its `lineage` facet."""

    processing: str | None
    snapshot: bool
    lineage: str | None


_NO_JOB_FACETS = _JobFacets(None, False, None)


class PartReader:
    """Reads bodies into parts and keeps the contents of their schemas and lineage facets. Not thread-safe."""

    def __init__(
        self, canonical: Canonical, contents: Contents, read: Callable[[Mention, WireDataset], None] | None = None
    ):
        """canonical: the form of a name (rule 2); contents: takes what is new.

        read: is told of each mention that is made of a text; for equal texts the same object is given again.
        """
        self._read = read
        self._canonical = canonical
        self._contents = contents
        self._facets = FacetReader()
        self._mentions: Memo[Mention] = Memo()
        self._jobs: Memo[_JobFacets] = Memo()
        self._parents: Memo[Parent] = Memo()
        self._artifacts: Memo[str | None] = Memo()

    def read(self, event_id: str, received_us: int, body: str) -> Part:
        """Read one row of table `events`; raises InvalidEvent if the body is no event, which bronze never holds."""
        wire = read_stored(body)
        return self.read_wire(event_id, received_us, wire, run_facets(wire))

    def read_wire(self, event_id: str, received_us: int, wire: WireEvent, of_run: Facets) -> Part:
        """Read an event that is taken apart already, beside the facets of its run."""
        time_us, _ = parse_time(wire.eventTime)
        run = wire.run if wire.run is not UNSET else None
        job = wire.job if wire.job is not UNSET else None
        name = Name(job.namespace, job.name) if job else Name("", "")
        of_job = self._of_job(job.facets) if job else _NO_JOB_FACETS
        kind = "RUN" if run else "JOB" if job else "DATASET"
        outputs = tuple(self._mentioned([wire.dataset] if kind == "DATASET" else wire.outputs))
        return Part(
            event_id=event_id,
            kind=kind,
            type=wire.eventType or "OTHER",
            time_us=received_us if time_us is None else time_us,
            received_us=received_us,
            run_key=_key(run, name, wire.producer, outputs),
            job=name,
            artifact=self._artifact(of_run),
            execution=self.parent(of_run).execution,
            processing=of_job.processing,
            snapshot=of_job.snapshot,
            inputs=tuple(self._mentioned(wire.inputs)),
            outputs=outputs,
            declared=tuple(self._declared(run, of_run, of_job)),
            producer=wire.producer,
        )

    def parent(self, of_run: Facets) -> Parent:
        """Return what the `parent` facet among the facets of a run says."""
        raw = of_run.get("parent")
        if raw is None:
            return _NO_PARENT
        text = bytes(raw)
        return self._parents.get(text) or self._parents.put(text, _read_parent(decode(text)))

    def _declared(self, run: WireRun | None, of_run: Facets, of_job: _JobFacets) -> Iterator[tuple[str, str]]:
        if run and "lineage" in of_run:
            content_hash = self._lineage(run.facets)
            if content_hash is not None:
                yield "run", content_hash
        if of_job.lineage is not None:
            yield "job", of_job.lineage

    def _lineage(self, raw: Raw) -> str | None:
        """Keep the `lineage` facet of a run or job; returns its hash."""
        found = self._facets.of_run(raw)
        self._keep(found)
        return self._hash(found, "lineage")

    def _mentioned(self, raws: Any) -> Iterator[Mention]:
        for raw in raws or ():
            mention = self._mention(bytes(raw))
            if mention and not is_noise(mention.name):
                yield mention

    def _mention(self, raw: bytes) -> Mention | None:
        """Read a dataset; what one run counted at it comes to one bit, so that the rest is found again."""
        known = None if b'"outputFacets"' in raw[-_TAIL:] else self._mentions.get(raw)  # hashing it costs 1 us a KB
        if known:
            return known
        read = read_wire_dataset(raw)
        if read is None:
            return None
        wire = read[0]
        if not wire.outputFacets:
            return self._mentions.get(raw) or self._mentions.put(raw, self._read_mention(wire, False))
        counted = any(name in members(wire.outputFacets) for name in _PROVES_ROWS)
        text = b"%s\0%s\0%d%s" % (wire.namespace.encode(), wire.name.encode(), counted, bytes(wire.facets))
        return self._mentions.get(text) or self._mentions.put(text, self._read_mention(wire, counted))

    def _read_mention(self, wire: WireDataset, counted: bool) -> Mention:
        name = self._canonical(wire.namespace, wire.name)
        facets, found = members(wire.facets), self._facets.of_run(wire.facets)
        self._keep(found)
        lifecycle, previous = self._lifecycle(facets.get("lifecycleStateChange"))
        mention = Mention(
            name=name,
            schema=self._hash(found, "schema"),
            lineage=self._hash(found, "columnLineage"),
            declared=self._hash(found, "lineage"),
            symlinks=tuple(self._symlinks(found, name)),
            tags=_tags(facets.get("tags")),
            lifecycle=lifecycle,
            previous=previous,
            landed=counted or "version" in facets,
            version=text_at(decode(bytes(facets["version"])), "datasetVersion") if "version" in facets else None,
        )
        if self._read:
            self._read(mention, wire)
        return mention

    def forget(self) -> None:
        """Read every dataset anew from now on."""
        self._mentions = Memo()

    def _keep(self, found: FacetSet) -> None:
        for content in found.contents:
            if content.content_hash in self._contents:
                continue
            rows = content_rows(content)
            if content.key == "schema":
                self._contents.add_schema(content.content_hash, schema_columns(rows))
            else:
                self._contents.add_lineage(content.content_hash, sent_edges(rows, self._canonical))

    def _hash(self, found: FacetSet, key: str) -> str | None:
        """Return a facet's content hash; none where it says nothing, so that it cannot displace one that does."""
        content = next((content for content in found.contents if content.key == key), None)
        if content is None:
            return None
        if _is_deleted(content):
            return DELETED
        if key == "schema":
            says = bool(self._contents.schema(content.content_hash))
        else:
            says = any(line.source for line in self._contents.lineage(content.content_hash))
        return content.content_hash if says else None

    def _symlinks(self, found: FacetSet, name: Name) -> Iterator[Symlink]:
        for link in found.symlinks:
            other = self._canonical(link.namespace, link.name)
            if other != name:
                yield Symlink(other, (link.type or "").upper() == "LOCATION")

    def _lifecycle(self, raw: Raw | None) -> tuple[str | None, Name | None]:
        value = decode(bytes(raw)) if raw else None
        change = text_at(value, "lifecycleStateChange")
        namespace = text_at(value, "previousIdentifier", "namespace")
        name = text_at(value, "previousIdentifier", "name")
        known = namespace is not None and name is not None
        return change and change.upper(), self._canonical(namespace or "", name or "") if known else None

    def _of_job(self, raw: Raw) -> _JobFacets:
        text = bytes(raw)
        return self._jobs.get(text) or self._jobs.put(text, self._read_job(raw))

    def _read_job(self, raw: Raw) -> _JobFacets:
        facets = members(raw)
        job_type = facets.get("jobType", NULL)
        processing, snapshot = (None, False) if job_type == NULL else _read_job_type(decode(bytes(job_type)))
        return _JobFacets(processing, snapshot, self._lineage(raw) if "lineage" in facets else None)

    def _artifact(self, facets: Facets) -> str | None:
        raw = facets.get("spark_properties")
        text = bytes(raw) if raw else b""
        if b"trident.artifact.id" not in text:
            return None
        return self._artifacts.get(text) or self._artifacts.put(text, _read_artifact(decode(text)))


def read_stored(body: str) -> WireEvent:
    """Take apart the body of one row of table `events`; raises InvalidEvent if it is no event."""
    return read_wire_event(repair_surrogates(body.encode()))[0]


def run_facets(wire: WireEvent) -> Facets:
    """Return the facets of an event's run by name; none where it has no run."""
    return members(wire.run.facets) if wire.run is not UNSET else {}


def members(raw: Raw | None) -> Facets:
    """Return the facets of an object by name, undecoded; none for what is no object."""
    return _members.decode(raw) if raw and raw != NULL else {}


def _key(run: WireRun | None, job: Name, producer: str, outputs: tuple[Mention, ...]) -> str:
    """Return the run's key; for declarations the layer that a newer one replaces."""
    if run is not None:
        return run_key(run.runId, job)
    if job.name:
        return msgspec.json.encode(["job", *job_key(job, None)]).decode()
    return msgspec.json.encode(["dataset", producer, *(part for output in outputs for part in output.name)]).decode()


def _read_parent(value: Any) -> Parent:
    namespace, name = text_at(value, "job", "namespace"), text_at(value, "job", "name")
    job = Name(namespace, name) if namespace is not None and name else None
    for path in (("root",), ()):
        run_id = text_at(value, *path, "run", "runId")
        if run_id:
            of = Name(text_at(value, *path, "job", "namespace") or "", text_at(value, *path, "job", "name") or "")
            return Parent(run_key(run_id, of), job)
    return Parent(None, job)


def _read_job_type(value: Any) -> tuple[str | None, bool]:
    processing = (text_at(value, "processingType") or "").upper()
    if processing not in ("STREAMING", "SERVICE"):
        processing = "STREAMING" if (text_at(value, "integration") or "").upper() == "FLINK" else "BATCH"
    mode = text_at(value, "emissionPattern", "eventContentMode") or ""
    return processing, mode.upper() == "COMPLETE_SNAPSHOT"


def _read_artifact(value: Any) -> str | None:
    names = ("trident.artifact.id", "spark.trident.artifact.id")
    return next((found for name in names if (found := text_at(value, "properties", name))), None)


def _tags(raw: Raw | None) -> tuple[Tag, ...] | None:
    value = decode(bytes(raw)) if raw else None
    if not isinstance(value, dict):
        return None
    if value.get("_deleted") is True:
        return ()
    found = [tag for tag in value.get("tags") or () if isinstance(tag, dict)] if _is_list(value.get("tags")) else []
    return tuple(
        Tag(text_at(tag, "field"), key, text_at(tag, "value") or "") for tag in found if (key := text_at(tag, "key"))
    )


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_deleted(content: Content) -> bool:
    return b"_deleted" in content.raw and decode(content.raw).get("_deleted") is True
