"""A stored event to a part: names in canonical form, facets by their content; what recurs is worked out once."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec import UNSET, Raw

from headwater.events.decode import decode, repair_surrogates
from headwater.events.facet_sets import FacetReader, FacetSet, text_at
from headwater.events.facets import Memo
from headwater.events.rows import content_rows
from headwater.events.times import parse_time
from headwater.events.wire import WireDataset, WireEvent, WireJob, WireRun, read_wire_dataset, read_wire_event
from headwater.lineage.contents import Canonical, Contents, is_noise, schema_columns, sent_edges
from headwater.lineage.jobs import job_key, run_key
from headwater.lineage.name import Name
from headwater.lineage.part import DELETED, Mention, Part, Symlink, Tag
from headwater.lineage.run_facets import NO_JOB_FACETS, Facets, RunFacets, members, run_facets
from headwater.lineage.sent_facets import is_deleted

_PROVES_ROWS = ("outputStatistics",)
_TAIL = 1024
"""Characters at the end of an output in which what a run counted is looked for."""


class PartReader:
    """Reads bodies into parts and keeps the contents of their schemas and lineage facets. Not thread-safe."""

    def __init__(
        self, canonical: Canonical, contents: Contents, read: Callable[[Mention, WireDataset], None] | None = None
    ):
        """canonical: the form of a name (rule 2); contents: takes what is new.

        read: is told of each mention that is made of a text; for equal texts the same object is given again.
        said: reads facets of runs and jobs, for whoever wants more of them.
        """
        self._read = read
        self._canonical = canonical
        self._contents = contents
        self._facets = FacetReader()
        self._mentions: Memo[Mention] = Memo()
        self.said = RunFacets()

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
        of_job = self.said.of_job(job.facets) if job else NO_JOB_FACETS
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
            artifact=self.said.artifact(of_run),
            execution=self.said.parent(of_run).execution,
            processing=of_job.processing,
            snapshot=of_job.snapshot,
            inputs=tuple(self._mentioned(wire.inputs)),
            outputs=outputs,
            declared=tuple(self._declared(run, of_run, job if of_job.declares else None)),
            producer=wire.producer,
            parent=self.said.parent(of_run).run,
        )

    def _declared(self, run: WireRun | None, of_run: Facets, declaring: WireJob | None) -> Iterator[tuple[str, str]]:
        """Keep the `lineage` facets of a run and of a job that has one; yield by whom, and their hashes."""
        found = [("run", self._facets.of_run(run.facets))] if run and "lineage" in of_run else []
        if declaring:
            found.append(("job", self._facets.recurring(declaring.facets)))
        for layer, facets in found:
            self._keep(facets)
            content_hash = self._hash(facets, "lineage")
            if content_hash is not None:
                yield layer, content_hash

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
        if is_deleted(content.raw):
            return DELETED
        if key == "schema":
            says = bool(self._contents.schema(content.content_hash))
        else:
            lines = self._contents.lineage(content.content_hash)
            says = any(line.source or line.output is not None for line in lines)
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


def read_stored(body: str) -> WireEvent:
    """Take apart the body of one row of table `events`; raises InvalidEvent if it is no event."""
    return read_wire_event(repair_surrogates(body.encode()))[0]


def _key(run: WireRun | None, job: Name, producer: str, outputs: tuple[Mention, ...]) -> str:
    """Return the run's key; for declarations the layer that a newer one replaces."""
    if run is not None:
        return run_key(run.runId, job)
    if job.name:
        return msgspec.json.encode(["job", *job_key(job, None)]).decode()
    return msgspec.json.encode(["dataset", producer, *(part for output in outputs for part in output.name)]).decode()


def _tags(raw: Raw | None) -> tuple[Tag, ...] | None:
    value = decode(bytes(raw)) if raw else None
    if not isinstance(value, dict):
        return None
    if is_deleted(raw or b""):
        return ()
    found = [tag for tag in value.get("tags") or () if isinstance(tag, dict)] if _is_list(value.get("tags")) else []
    return tuple(
        Tag(text_at(tag, "field"), key, text_at(tag, "value") or "") for tag in found if (key := text_at(tag, "key"))
    )


def _is_list(value: Any) -> bool:
    return isinstance(value, list)
