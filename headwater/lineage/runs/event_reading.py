"""Convert a stored event into facts: canonical names, and facets as content hashes. Recurring shapes are cached.

Bronze stores all that is read here in columns next to the body. Rows of older versions lack these columns, so their
bodies are read with the code of the parser.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain
from types import MappingProxyType

import msgspec
from msgspec import Struct, structs

from headwater.events.body_reader import BodyReader
from headwater.events.event import Content, Event, EventShape, Sent, UsedDataset
from headwater.events.rows import content_rows
from headwater.events.subset_condition import FILTERED, PARTS_READ, SUBSET, folder_columns
from headwater.lineage.edges.accounting import fed_columns, lists_some_columns, names_all
from headwater.lineage.edges.facet_contents import (
    Canonical,
    Contents,
    SentSql,
    is_noise,
    is_of_metadata,
    schema_columns,
    sent_edges,
    sent_sql,
)
from headwater.lineage.edges.write_kinds import LISTS_ALL
from headwater.lineage.names.canonical_names import EventRules, NameRules, default_rules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.operations import loses_part
from headwater.lineage.runs.bounded_cache import BoundedCache
from headwater.lineage.runs.commit_proofs import proof_signs
from headwater.lineage.runs.event_order import order_of
from headwater.lineage.runs.job_identity import job_key, run_key
from headwater.lineage.runs.run_facts import (
    DELETED,
    DatasetUse,
    EventContent,
    RunFacts,
    Symlink,
    Tag,
)
from headwater.lineage.runs.write_properties import (
    CHANGE_NAMESPACE,
    deletion_signs,
    nominal_time,
    properties_signs,
)
from headwater.lineage.sql.dialects import dialect_of
from headwater.lineage.sql.write_signs import find_write_signs
from headwater.tables import COLUMN_LINEAGE, SCHEMAS

SQL = "sql"
"""The job facet that contains the SQL of a run."""


CanonicalJob = Callable[[Name, Iterable[Name]], Name]
"""(name of a job as sent, names of the outputs of its event) → canonical name of the job"""


class ReadShape(Struct, frozen=True, gc=False):
    """The shape of an event, as the rules use it.

    places: indexes of the names that the rules count as datasets, in the list of inputs followed by outputs.
    inputs: how many of `uses` are inputs; uses: the datasets at `places`, without versions.
    has_run_facets: the run has facets, which may be stored in the body only.
    written: names of the outputs as sent; conditional: names that mean another dataset in some events (rule 2.1).
    sql: hash of the SQL of the job; statement: that SQL.
    says_all: every output has the inputs of each column that it lists, so the SQL is not needed.
    """

    artifact: str | None
    processing: str | None
    snapshot: bool
    declared: tuple[tuple[str, str], ...]
    leads_to: tuple[Name, ...]
    places: tuple[int, ...]
    inputs: int
    uses: tuple[DatasetUse, ...]
    has_run_facets: bool
    sql: str | None = None
    says_all: bool = False
    statement: SentSql | None = None
    written: tuple[Name, ...] = ()
    conditional: tuple[Name, ...] = ()

    def content(
        self, sent: Sent, job: Name, properties: Iterable[str] = (), forms: Mapping[Name, Name] = MappingProxyType({})
    ) -> EventContent:
        """Return the content of an event with this shape.

        job: canonical name; properties: signs in the facets of the run of how it writes; forms: names that mean other
        datasets in this event, with these datasets.
        """
        sent_job = _sent_job(sent)
        uses = tuple(_in_event(use, forms) for use in self.uses) if forms else self.uses
        return EventContent(
            kind=sent.kind,
            type=sent.event_type or "OTHER",
            job=job,
            sent_job=None if job == sent_job else sent_job,
            artifact=self.artifact,
            processing=self.processing,
            snapshot=self.snapshot,
            inputs=uses[: self.inputs],
            outputs=uses[self.inputs :],
            declared=self.declared,
            leads_to=tuple(sorted(forms.get(name, name) for name in self.leads_to)) if forms else self.leads_to,
            producer=sent.producer,
            sql=self.sql if sent.kind == "RUN" and self._asks_sql(sent) else None,
            write_signs=tuple(sorted({*properties, *(self._sql_signs(sent) if sent.kind == "RUN" else ())})),
            forms=tuple(sorted(forms.items())),
        )

    def _sql_signs(self, sent: Sent) -> Iterable[str]:
        if self.statement is None:
            return ()
        namespaces = (use.name.namespace for use in reversed(self.uses))
        return find_write_signs(self.statement.query, dialect_of(self.statement.dialect, namespaces, sent.producer))

    def _asks_sql(self, sent: Sent) -> bool:
        """Tell whether an event may leave open where columns come from."""
        return not self.says_all or lists_some_columns(sent.producer)


class FactsReader:
    """Converts events into facts, and stores the contents of their schemas, lineage facets and SQL. Not thread-safe."""

    def __init__(
        self,
        canonical: Canonical,
        contents: Contents,
        jobs: CanonicalJob | None = None,
        has_complete_lists: Callable[[str], bool] = lambda _: False,
        of_events: EventRules | None = None,
    ):
        """canonical: returns the canonical form of a name (rule 2); contents: stores new facets.

        jobs: returns the canonical name of a job (rule 3), by default with the shipped rules.
        has_complete_lists: returns whether the lists of columns of a producer are complete (rule 12.6).
        of_events: rules for names with conditions on the event, by default the shipped ones.
        """
        self._of_events = of_events or default_rules().of_events
        self._lists_all = has_complete_lists
        self._canonical = canonical
        self._jobs = jobs or default_rules().job
        self._contents = contents
        self._bodies = BodyReader()
        self._shapes: BoundedCache[str, ReadShape] = BoundedCache()
        self._uses: BoundedCache[UsedDataset, DatasetUse] = BoundedCache()
        self._known_contents: BoundedCache[Hashable, EventContent] = BoundedCache()

    def read(self, event_id: str, received_us: int, body: str) -> RunFacts:
        """Read an event from its body, which must be valid, as in bronze; otherwise raises InvalidEvent."""
        event = self.read_body(body)
        return self.fact(event_id, received_us, event, self.learn(event.said, event.contents))

    def read_body(self, body: str) -> Event:
        """Read a body as the parser does."""
        return self._bodies.read(body.encode())

    def known(self, shape: str) -> ReadShape | None:
        """Return the shape with this hash if it is in the cache."""
        return self._shapes.get(shape)

    def learn(self, shape: EventShape, contents: Iterable[Content] = ()) -> ReadShape:
        """Add a shape to the cache and return it.

        contents: the facets that it refers to, unless they are stored already.
        """
        found = self._shapes.get(shape.shape)
        if found is not None:
            return found
        self._keep(contents)
        uses = [self._as_read(self._use(each), each) for each in shape.inputs]
        uses += [self._as_written(self._use(each), each) for each in shape.outputs]
        places = tuple(place for place, use in enumerate(uses) if not is_noise(use.name))
        declared, sql = tuple(self._declared(shape)), self._sql(shape)
        said = ReadShape(
            shape.artifact,
            *_job_type(shape),
            declared=declared,
            leads_to=tuple(sorted(self._targets(declared))),
            places=places,
            inputs=sum(place < len(shape.inputs) for place in places),
            uses=tuple(uses[place] for place in places),
            has_run_facets=bool(shape.run_facets),
            sql=sql,
            statement=self._contents.sql(sql) if sql else None,
            written=tuple(Name(each.namespace, each.name) for each in shape.outputs),
            conditional=tuple(sorted(self._conditional([uses[place] for place in places], declared))),
            says_all=sql is not None
            and self._says_all([uses[at] for at in places if at >= len(shape.inputs)], {use.name for use in uses}),
        )
        return self._shapes.keep(shape.shape, said, 10 * len(uses))

    def forget(self) -> None:
        """Clear the caches."""
        self._shapes.clear()
        self._uses.clear()
        self._known_contents.clear()

    def fact(self, event_id: str, received_us: int, sent: Sent, said: ReadShape) -> RunFacts:
        """Return the facts of an event."""
        signs = properties_signs(sent.run_facets)
        if self._lists_all(sent.producer):
            signs = (*signs, LISTS_ALL)
        if sent.job_namespace == CHANGE_NAMESPACE:
            signs = (*signs, *deletion_signs(sent.run_facets))
        signs = (*signs, *proof_signs(sent.run_facets, sent.job_namespace, sent.job_name, self._canonical))
        who = (sent.shape, sent.kind, sent.event_type, sent.job_namespace, sent.job_name, sent.producer, signs)
        content = self._known_contents.get(who)
        if content is None:
            job = self._jobs(_sent_job(sent), said.written)
            forms = self._forms(said, sent.producer, job.namespace)
            content = self._known_contents.keep(who, said.content(sent, job, signs, forms), 0)
        time_us = received_us if sent.event_time_us is None else sent.event_time_us
        parent = _run_of(sent.parent_run_id, sent.parent_job_namespace, sent.parent_job_name)
        return RunFacts(
            order=order_of(event_id, content.type, time_us, received_us),
            received_us=received_us,
            run_key=_key(sent, content),
            execution=_run_of(sent.root_run_id, sent.root_job_namespace, sent.root_job_name) or parent,
            parent=parent,
            content=content,
            versions={} if sent.versions is None else _versions(said, sent.versions),
            nominal_us=nominal_time(sent.run_facets) if sent.kind == "RUN" else None,
        )

    def _conditional(self, uses: Sequence[DatasetUse], declared: Iterable[tuple[str, str]]) -> set[Name]:
        """Return the names in an event, those of its lineage included, to which rules with conditions apply."""
        names = {use.name for use in uses} | {use.previous for use in uses if use.previous}
        names |= {link.name for use in uses for link in use.symlinks}
        told = [content for use in uses for content in (use.lineage, use.declared)]
        told += [content for _, content in declared]
        for content in filter(None, told):
            lines = self._contents.lineage(content) if content != DELETED else ()
            names |= {name for line in lines for name in (line.source, line.target) if name}
        return {name for name in names if self._of_events.concern(name)}

    def _forms(self, said: ReadShape, producer: str, job_namespace: str) -> dict[Name, Name]:
        """Map each name that means another dataset in an event to that dataset."""
        forms = ((name, self._of_events.form(name, producer, job_namespace)) for name in said.conditional)
        return {name: form for name, form in forms if form != name}

    def _keep(self, contents: Iterable[Content]) -> None:
        for content in contents:
            if content.table == SCHEMAS.name and not _holds(self._contents, self._contents.schema, content):
                self._contents.add_schema(content.content_hash, schema_columns(content_rows(content)))
            elif content.table == COLUMN_LINEAGE.name and not _holds(self._contents, self._contents.lineage, content):
                edges = sent_edges(content_rows(content), self._canonical)
                self._contents.add_lineage(content.content_hash, edges)
            elif content.key == SQL and not _holds(self._contents, self._contents.sql, content):
                self._contents.add_sql(content.content_hash, sent_sql(content.raw))

    def _sql(self, shape: EventShape) -> str | None:
        facet = next((facet for facet in shape.job_facets if facet.name == SQL and facet.content_hash), None)
        if facet is None or facet.content_hash is None:
            return None
        if facet.deleted:
            return DELETED
        return facet.content_hash if self._contents.sql(facet.content_hash).query else None

    def _says_all(self, outputs: Sequence[DatasetUse], listed: Set[Name]) -> bool:
        """Tell whether there are outputs, and each has listed datasets as inputs for every column that it lists."""
        told = [
            bool(use.lineage and use.schema)
            and names_all(
                self._contents.schema(use.schema or ""), fed_columns(self._contents.lineage(use.lineage or ""))
            )
            for use in outputs
        ]
        named = (line.source for use in outputs for line in self._contents.lineage(use.lineage or ""))
        return bool(told) and all(told) and all(name in listed for name in named if name)

    def _declared(self, shape: EventShape) -> Iterator[tuple[str, str]]:
        """Yield (`run` or `job`, hash) for each `lineage` facet of the run and the job."""
        for layer, told in (("run", shape.run_lineage), ("job", shape.job_lineage)):
            content_hash = self._lineage(told)
            if content_hash is not None:
                yield layer, content_hash

    def _targets(self, declared: Iterable[tuple[str, str]]) -> set[Name]:
        lines = (line for _, found in declared if found != DELETED for line in self._contents.lineage(found))
        return {line.target for line in lines if line.target and not is_noise(line.target)}

    def _use(self, of: UsedDataset) -> DatasetUse:
        found = self._uses.get(of)
        return found if found is not None else self._uses.keep(of, self._read_use(of), 10)

    def _read_use(self, of: UsedDataset) -> DatasetUse:
        name = self._canonical(of.namespace, of.name)
        previous = None
        if of.previous_namespace is not None and of.previous_name is not None:
            previous = self._canonical(of.previous_namespace, of.previous_name)
        return DatasetUse(
            name=name,
            schema=self._schema(of.schema),
            lineage=self._lineage(of.lineage),
            declared=self._lineage(of.declared),
            symlinks=tuple(self._symlinks(of, name)),
            tags=None if of.tags is None else tuple(Tag(field, key, value or "") for field, key, value in of.tags),
            lifecycle=of.lifecycle and of.lifecycle.upper(),
            previous=None if previous == name else previous,
            rows_confirmed=of.landed,
            is_part=self._is_part(of, name),
        )

    def _is_part(self, of: UsedDataset, name: Name) -> bool:
        """Tell whether the rules for names removed the last folder, a pattern, a date or the end of a name."""
        folder = of.name.rstrip("/").rpartition("/")[0]
        if folder.strip("/") and self._canonical(of.namespace, folder) == name:
            return True
        return loses_part(of.name, name.name)

    @staticmethod
    def _as_written(use: DatasetUse, of: UsedDataset) -> DatasetUse:
        """Mark an output that is a part of a dataset. To drop or rename a part ends no generation (rule 10.1)."""
        is_part = SUBSET in of.counted or any(facet.name == SUBSET and not facet.deleted for facet in of.facets)
        use = structs.replace(use, is_part=True) if is_part and not use.is_part else use
        ends = use.is_part and use.lifecycle in ("DROP", "RENAME")
        return structs.replace(use, lifecycle=None, previous=None) if ends else use

    def _as_read(self, use: DatasetUse, of: UsedDataset) -> DatasetUse:
        """Record what the condition of an input names (rules 4.11, 6.7); drop the schema of a metadata table (11.4)."""
        if PARTS_READ in of.counted and not use.is_part:
            use = structs.replace(use, is_part=True)
        filters = {each.removeprefix(FILTERED) for each in of.counted if each.startswith(FILTERED)}
        filters |= folder_columns(of.name) - folder_columns(use.name.name)
        if filters:
            use = structs.replace(use, filters=tuple(sorted(filters)))
        columns = self._contents.schema(use.schema) if use.schema and use.schema != DELETED else ()
        if is_of_metadata(columns):
            return structs.replace(use, schema=None, metadata=tuple(".".join(path) for path in columns))
        return use

    def _schema(self, content_hash: str | None) -> str | None:
        """Return the hash of a schema facet, None if the facet is empty, so that it does not replace a full one."""
        return content_hash if not content_hash or self._contents.schema(content_hash) else None

    def _lineage(self, content_hash: str | None) -> str | None:
        if not content_hash:
            return content_hash
        lines = self._contents.lineage(content_hash)
        return content_hash if any(line.has_source or line.output is not None for line in lines) else None

    def _symlinks(self, of: UsedDataset, name: Name) -> Iterator[Symlink]:
        for link in of.symlinks:
            other = self._canonical(link.namespace, link.name)
            if other != name:
                yield Symlink(other, (link.type or "").upper() == "LOCATION")


def facts_reader(names: NameRules, contents: Contents) -> FactsReader:
    """Return a reader that applies these rules for names."""
    return FactsReader(names.canonical, contents, names.job, names.has_complete_lists, names.of_events)


def _in_event(use: DatasetUse, forms: Mapping[Name, Name]) -> DatasetUse:
    """Return a dataset with the names that rules with conditions give it in an event."""
    return structs.replace(
        use,
        name=forms.get(use.name, use.name),
        previous=use.previous and forms.get(use.previous, use.previous),
        symlinks=tuple(link._replace(name=forms.get(link.name, link.name)) for link in use.symlinks),
    )


def _holds(contents: Contents, read: Callable[[str], object], content: Content) -> bool:
    """Tell whether a facet is stored as its kind. An empty facet has the same hash as a schema and as lineage."""
    try:
        return content.content_hash in contents and read(content.content_hash) is not None
    except KeyError:
        return False


def _sent_job(sent: Sent) -> Name:
    return Name(sent.job_namespace or "", sent.job_name or "").cut


def _versions(said: ReadShape, sent: Sequence[str | None]) -> dict[int, str]:
    """Return the dataset versions of one event, by the index of the dataset in the shape."""
    return {at: text for at, place in enumerate(said.places) if (text := sent[place]) is not None}


def _run_of(run_id: str | None, namespace: str | None, name: str | None) -> str | None:
    """Return the key of the run that a facet names."""
    return run_key(run_id, Name(namespace or "", name or "")) if run_id else None


def _key(sent: Sent, said: EventContent) -> str:
    """Return the key of the run. For declarations, it is the key under which a newer one replaces an older one."""
    if said.kind == "RUN":
        return run_key(sent.run_id or "", _sent_job(sent))
    if said.kind == "JOB":
        return msgspec.json.encode(["job", *job_key(said.job, None)]).decode()
    names = chain.from_iterable(output.name for output in said.outputs)
    return msgspec.json.encode(["dataset", sent.producer, *names]).decode()


def _job_type(shape: EventShape) -> tuple[str | None, bool]:
    """Return the processing type of a job, None without `jobType`, and whether each event is a complete snapshot."""
    if not any(facet.name == "jobType" for facet in shape.job_facets):
        return None, False
    processing = (shape.processing_type or "").upper()
    if processing not in ("STREAMING", "SERVICE"):
        processing = "STREAMING" if (shape.integration or "").upper() == "FLINK" else "BATCH"
    return processing, (shape.emission or "").upper() == "COMPLETE_SNAPSHOT"
