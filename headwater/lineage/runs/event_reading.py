"""Convert a stored event into facts, with canonical names and with content hashes instead of facets.

Bronze stores all values that this module needs in columns next to the body. Rows of older versions lack these columns,
so this module reads their bodies with the code of the parser. Recurring shapes are cached.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain
from types import MappingProxyType

import msgspec
from msgspec import Struct, structs

from headwater.events.body_reader import BodyReader
from headwater.events.event import Content, Event, EventShape, Sent, UsedDataset
from headwater.events.rows import content_rows
from headwater.events.statistics_facets import METRICS, STATISTICS
from headwater.events.subset_condition import FILTERED, PARTS_READ, SUBSET, folder_columns
from headwater.lineage.edges.accounted_columns import fed_columns, is_exact_column_match, may_list_partial_columns
from headwater.lineage.edges.facet_contents import (
    CanonicalizeName,
    FacetContents,
    SentSql,
    is_delta_internal_file,
    is_iceberg_metadata_table,
    parse_sql_facet,
    read_sent_edges,
    schema_paths,
)
from headwater.lineage.edges.write_kinds import SIGN_COMPLETE_LISTS
from headwater.lineage.names.canonical_names import EventRules, NameRules, default_rules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.operations import loses_part
from headwater.lineage.runs.airflow_assets import NO_ASSETS, read_assets
from headwater.lineage.runs.bounded_cache import BoundedCache
from headwater.lineage.runs.commit_proofs import read_proof_signs
from headwater.lineage.runs.event_order import event_order
from headwater.lineage.runs.jobs import job_key, run_key
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
    nominal_time_us,
    read_deletion_signs,
    read_write_signs,
)
from headwater.lineage.sql.dialects import dialect_of
from headwater.lineage.sql.write_signs import find_write_signs
from headwater.tables import COLUMN_LINEAGE, SCHEMAS

SQL = "sql"
"""The name of the job facet that contains the SQL of a run."""


CanonicalizeJob = Callable[[Name, Iterable[Name]], Name]
"""(name of a job as sent, names of the outputs in the event of the job) → canonical name of the job"""


AssetUses = tuple[tuple[DatasetUse, ...], tuple[DatasetUse, ...]]
"""(inlets, outlets) of a task"""


class ShapeFacts(Struct, frozen=True, gc=False):
    """The shape of an event in the form that the rules use.

    artifact: the id of the Fabric artifact (`job_key`).
    processing: BATCH, STREAMING or SERVICE; None without a `jobType` facet.
    is_snapshot: whether each event of the run is a complete snapshot (rule 1.11).
    declared_facets: (`run` or `job`, content hash) of each `lineage` facet of the run and the job.
    declared_targets: the datasets that these facets name as targets.
    dataset_indexes: the indexes of the names that the rules count as datasets. They refer to the list of inputs
    followed by outputs.
    uses: the datasets at `dataset_indexes`, without versions. The first `input_count` of them are inputs.
    has_run_facets: whether the run has facets. They may be stored in the body only. may_have_numbers: whether the
    datasets may have numbers, such as row counts.
    output_names: the names of the outputs as sent.
    conditional_names: the names to which rules with conditions on the event apply (rule 2.1).
    sql_hash: the content hash of the SQL of the job, or `DELETED`; None without SQL. sql_content: the SQL.
    has_all_column_sources: whether lineage gives inputs for every column that the outputs list, so that the SQL is not
    needed.
    """

    artifact: str | None
    processing: str | None
    is_snapshot: bool
    declared_facets: tuple[tuple[str, str], ...]
    declared_targets: tuple[Name, ...]
    dataset_indexes: tuple[int, ...]
    input_count: int
    uses: tuple[DatasetUse, ...]
    has_run_facets: bool
    sql_hash: str | None = None
    has_all_column_sources: bool = False
    sql_content: SentSql | None = None
    output_names: tuple[Name, ...] = ()
    conditional_names: tuple[Name, ...] = ()
    may_have_numbers: bool = False

    def event_content(
        self,
        sent: Sent,
        job: Name,
        signs: Iterable[str] = (),
        name_forms: Mapping[Name, Name] = MappingProxyType({}),
        assets: AssetUses = ((), ()),
    ) -> EventContent:
        """Return the content of an event with this shape.

        job: the canonical name of the job. signs: the write signs in the facets of the run.
        name_forms: maps each name that means another dataset in this event to that dataset.
        assets: the inlets and outlets of the task. They replace missing inputs and outputs (rule 4.14).
        """
        sent_job = _sent_job(sent)
        inputs, outputs = self.uses[: self.input_count] or assets[0], self.uses[self.input_count :] or assets[1]
        if name_forms:
            inputs, outputs = (tuple(_apply_name_forms(use, name_forms) for use in side) for side in (inputs, outputs))
        return EventContent(
            kind=sent.kind,
            type=sent.event_type or "OTHER",
            job=job,
            sent_job=None if job == sent_job else sent_job,
            artifact_id=self.artifact,
            processing=self.processing,
            is_snapshot=self.is_snapshot,
            inputs=inputs,
            outputs=outputs,
            declared_facets=self.declared_facets,
            declared_targets=tuple(sorted(name_forms.get(name, name) for name in self.declared_targets))
            if name_forms
            else self.declared_targets,
            producer=sent.producer,
            sql=self.sql_hash if sent.kind == "RUN" and self._needs_sql(sent) else None,
            write_signs=tuple(sorted({*signs, *(self._sql_signs(sent) if sent.kind == "RUN" else ())})),
            name_forms=tuple(sorted(name_forms.items())),
        )

    def _sql_signs(self, sent: Sent) -> Iterable[str]:
        if self.sql_content is None:
            return ()
        namespaces = (use.name.namespace for use in reversed(self.uses))
        return find_write_signs(self.sql_content.query, dialect_of(self.sql_content.dialect, namespaces, sent.producer))

    def _needs_sql(self, sent: Sent) -> bool:
        """Tell whether the event may leave open from which columns an output is made, so that its SQL is needed."""
        return not self.has_all_column_sources or may_list_partial_columns(sent.producer)


def _may_have_numbers(dataset: UsedDataset) -> bool:
    return not STATISTICS.isdisjoint(dataset.counted) or any(facet.name == METRICS for facet in dataset.facets)


class FactsReader:
    """Converts events into facts, and stores the contents of schema, lineage and SQL facets. Not thread-safe."""

    def __init__(
        self,
        canonical_name: CanonicalizeName,
        contents: FacetContents,
        canonical_job: CanonicalizeJob | None = None,
        has_complete_lists: Callable[[str], bool] = lambda _: False,
        event_rules: EventRules | None = None,
    ):
        """Create a reader.

        canonical_name: returns the canonical name of a dataset (rule 2) for a namespace and a name.
        contents: stores the contents of new facets.
        canonical_job: returns the canonical name of a job (rule 3). The default applies the shipped rules.
        has_complete_lists: returns whether a producer always lists all columns of a dataset (rule 12.6).
        event_rules: the rules for names with conditions on the event. The default is the shipped rules.
        """
        self._event_rules = event_rules or default_rules().of_events
        self._has_complete_lists = has_complete_lists
        self._canonical_name = canonical_name
        self._canonical_job = canonical_job or default_rules().canonical_job
        self._contents = contents
        self._bodies = BodyReader()
        self._shapes: BoundedCache[str, ShapeFacts] = BoundedCache()
        self._uses: BoundedCache[UsedDataset, DatasetUse] = BoundedCache()
        self._event_contents: BoundedCache[Hashable, EventContent] = BoundedCache()

    def read_event(self, event_id: str, received_us: int, body: str) -> RunFacts:
        """Return the facts of an event, given its body. Raises InvalidEvent if the body is not a valid event."""
        event = self.read_body(body)
        return self.facts_of_event(event_id, received_us, event, self.add_shape(event.event_shape, event.contents))

    def read_body(self, body: str) -> Event:
        """Parse the body of an event in the same way as the parser of bronze."""
        return self._bodies.read_event(body.encode())

    def cached_shape(self, shape: str) -> ShapeFacts | None:
        """Return the shape with this hash; None if it is not in the cache."""
        return self._shapes.get(shape)

    def add_shape(self, shape: EventShape, contents: Iterable[Content] = ()) -> ShapeFacts:
        """Convert the shape of an event, add it to the cache and return it.

        contents: the facets with content hashes in the shape. Facets that are already stored may be missing.
        """
        found = self._shapes.get(shape.shape)
        if found is not None:
            return found
        self._store_contents(contents)
        uses = [self._as_input(self._dataset_use(each), each) for each in shape.inputs]
        uses += [self._as_output(self._dataset_use(each), each) for each in shape.outputs]
        places = tuple(place for place, use in enumerate(uses) if not is_delta_internal_file(use.name))
        declared, sql = tuple(self._declared_facets(shape)), self._sql_hash(shape)
        shape_facts = ShapeFacts(
            shape.artifact,
            *_processing_and_snapshot(shape),
            declared_facets=declared,
            declared_targets=tuple(sorted(self._declared_targets(declared))),
            dataset_indexes=places,
            input_count=sum(place < len(shape.inputs) for place in places),
            uses=tuple(uses[place] for place in places),
            has_run_facets=bool(shape.run_facets),
            may_have_numbers=any(each.landed for each in shape.outputs)
            or any(_may_have_numbers(each) for each in (*shape.inputs, *shape.outputs)),
            sql_hash=sql,
            sql_content=self._contents.sql(sql) if sql else None,
            output_names=tuple(Name(each.namespace, each.name) for each in shape.outputs),
            conditional_names=tuple(sorted(self._conditional_names([uses[place] for place in places], declared))),
            has_all_column_sources=sql is not None
            and self._has_all_column_sources(
                [uses[at] for at in places if at >= len(shape.inputs)], {use.name for use in uses}
            ),
        )
        return self._shapes.put(shape.shape, shape_facts, 10 * len(uses))

    def clear_caches(self) -> None:
        """Remove all cached shapes, datasets and contents of events."""
        self._shapes.clear()
        self._uses.clear()
        self._event_contents.clear()

    def facts_of_event(self, event_id: str, received_us: int, sent: Sent, shape: ShapeFacts) -> RunFacts:
        """Return the facts of an event with a known shape. sent: the values of the event as sent."""
        signs = read_write_signs(sent.run_facets)
        if self._has_complete_lists(sent.producer):
            signs = (*signs, SIGN_COMPLETE_LISTS)
        if sent.job_namespace == CHANGE_NAMESPACE:
            signs = (*signs, *read_deletion_signs(sent.run_facets))
        signs = (*signs, *read_proof_signs(sent.run_facets, sent.job_namespace, sent.job_name, self._canonical_name))
        assets = read_assets(sent.run_facets) if sent.kind == "RUN" else NO_ASSETS
        cache_key = (
            sent.shape, sent.kind, sent.event_type, sent.job_namespace, sent.job_name, sent.producer, signs, assets,
        )  # fmt: skip
        content = self._event_contents.get(cache_key)
        if content is None:
            job = self._canonical_job(_sent_job(sent), shape.output_names)
            uses: AssetUses = (self._asset_uses(assets.inlets), self._asset_uses(assets.outlets))
            names = {use.name for side in uses for use in side if self._event_rules.may_apply(use.name)}
            forms = self._name_forms((*shape.conditional_names, *names), sent.producer, job.namespace)
            content = self._event_contents.put(cache_key, shape.event_content(sent, job, signs, forms, uses), 0)
        time_us = received_us if sent.event_time_us is None else sent.event_time_us
        parent = _run_key_in_facet(sent.parent_run_id, sent.parent_job_namespace, sent.parent_job_name)
        return RunFacts(
            order=event_order(event_id, content.type, time_us, received_us),
            received_us=received_us,
            run_key=_run_key(sent, content),
            execution=_run_key_in_facet(sent.root_run_id, sent.root_job_namespace, sent.root_job_name) or parent,
            parent=parent,
            content=content,
            versions={} if sent.versions is None else _versions_by_index(shape, sent.versions),
            nominal_us=nominal_time_us(sent.run_facets) if sent.kind == "RUN" else None,
        )

    def _conditional_names(self, uses: Sequence[DatasetUse], declared_facets: Iterable[tuple[str, str]]) -> set[Name]:
        """Return the names in an event and its lineage to which rules with conditions on the event apply."""
        names = {use.name for use in uses} | {use.previous_name for use in uses if use.previous_name}
        names |= {link.name for use in uses for link in use.symlinks}
        content_hashes = [content for use in uses for content in (use.lineage, use.declared_facet)]
        content_hashes += [content for _, content in declared_facets]
        for content in filter(None, content_hashes):
            lines = self._contents.lineage(content) if content != DELETED else ()
            names |= {name for line in lines for name in (line.source, line.target) if name}
        return {name for name in names if self._event_rules.may_apply(name)}

    def _asset_uses(self, names: Iterable[Name]) -> tuple[DatasetUse, ...]:
        """Return the datasets of inlets or outlets. names: their names as sent."""
        uses = (self._dataset_use(UsedDataset(*name.parts)) for name in names)
        return tuple(structs.replace(use, is_asset=True) for use in uses if not is_delta_internal_file(use.name))

    def _name_forms(self, names: Iterable[Name], producer: str, job_namespace: str) -> dict[Name, Name]:
        """Return the names that mean another dataset in an event, each with the name of that dataset."""
        forms = ((name, self._event_rules.event_form(name, producer, job_namespace)) for name in names)
        return {name: form for name, form in forms if form != name}

    def _store_contents(self, contents: Iterable[Content]) -> None:
        for content in contents:
            if content.table == SCHEMAS.name and not _is_stored(self._contents, self._contents.schema, content):
                self._contents.add_schema(content.content_hash, schema_paths(content_rows(content)))
            elif content.table == COLUMN_LINEAGE.name and not _is_stored(
                self._contents, self._contents.lineage, content
            ):
                edges = read_sent_edges(content_rows(content), self._canonical_name)
                self._contents.add_lineage(content.content_hash, edges)
            elif content.key == SQL and not _is_stored(self._contents, self._contents.sql, content):
                self._contents.add_sql(content.content_hash, parse_sql_facet(content.raw))

    def _sql_hash(self, shape: EventShape) -> str | None:
        facet = next((facet for facet in shape.job_facets if facet.name == SQL and facet.content_hash), None)
        if facet is None or facet.content_hash is None:
            return None
        if facet.deleted:
            return DELETED
        return facet.content_hash if self._contents.sql(facet.content_hash).query else None

    def _has_all_column_sources(self, outputs: Sequence[DatasetUse], listed_datasets: Set[Name]) -> bool:
        """Tell whether lineage gives inputs for every column that the outputs list, and names only listed datasets.

        The result is False without outputs. listed_datasets: the inputs and outputs of the event.
        """
        is_complete = [
            bool(use.lineage and use.schema)
            and is_exact_column_match(
                self._contents.schema(use.schema or ""), fed_columns(self._contents.lineage(use.lineage or ""))
            )
            for use in outputs
        ]
        named = (line.source for use in outputs for line in self._contents.lineage(use.lineage or ""))
        return bool(is_complete) and all(is_complete) and all(name in listed_datasets for name in named if name)

    def _declared_facets(self, shape: EventShape) -> Iterator[tuple[str, str]]:
        """Yield (`run` or `job`, content hash) for each `lineage` facet of the run and the job."""
        for layer, content in (("run", shape.run_lineage), ("job", shape.job_lineage)):
            content_hash = self._lineage_hash(content)
            if content_hash is not None:
                yield layer, content_hash

    def _declared_targets(self, declared_facets: Iterable[tuple[str, str]]) -> set[Name]:
        lines = (line for _, found in declared_facets if found != DELETED for line in self._contents.lineage(found))
        return {line.target for line in lines if line.target and not is_delta_internal_file(line.target)}

    def _dataset_use(self, used: UsedDataset) -> DatasetUse:
        found = self._uses.get(used)
        return found if found is not None else self._uses.put(used, self._read_dataset_use(used), 10)

    def _read_dataset_use(self, used: UsedDataset) -> DatasetUse:
        name = self._canonical_name(used.namespace, used.name)
        previous = None
        if used.previous_namespace is not None and used.previous_name is not None:
            previous = self._canonical_name(used.previous_namespace, used.previous_name)
        return DatasetUse(
            name=name,
            schema=self._schema_hash(used.schema),
            lineage=self._lineage_hash(used.lineage),
            declared_facet=self._lineage_hash(used.declared),
            symlinks=tuple(self._symlinks(used, name)),
            tags=None if used.tags is None else tuple(Tag(field, key, value or "") for field, key, value in used.tags),
            lifecycle=used.lifecycle and used.lifecycle.upper(),
            previous_name=None if previous == name else previous,
            rows_confirmed=used.landed,
            is_part=self._is_dataset_part(used, name),
        )

    def _is_dataset_part(self, used: UsedDataset, name: Name) -> bool:
        """Tell whether a name denotes a part of the dataset with the canonical name.

        This is so if the rules for names removed the last folder, a pattern, a date or the end of the name.
        """
        folder = used.name.rstrip("/").rpartition("/")[0]
        if folder.strip("/") and self._canonical_name(used.namespace, folder) == name:
            return True
        return loses_part(used.name, name.name)

    @staticmethod
    def _as_output(use: DatasetUse, used: UsedDataset) -> DatasetUse:
        """Return an output, marked as a part of a dataset if it has a `subset` facet.

        A part has no DROP or RENAME, because to drop or rename a part ends no generation (rule 10.1).
        """
        is_part = SUBSET in used.counted or any(facet.name == SUBSET and not facet.deleted for facet in used.facets)
        use = structs.replace(use, is_part=True) if is_part and not use.is_part else use
        ends = use.is_part and use.lifecycle in ("DROP", "RENAME")
        return structs.replace(use, lifecycle=None, previous_name=None) if ends else use

    def _as_input(self, use: DatasetUse, used: UsedDataset) -> DatasetUse:
        """Return an input with the columns in its condition (rule 4.11), marked if it reads a part of a dataset (6.7).

        If the input is a metadata table, its schema moves to `metadata_columns` (rule 11.4).
        """
        if PARTS_READ in used.counted and not use.is_part:
            use = structs.replace(use, is_part=True)
        filters = {each.removeprefix(FILTERED) for each in used.counted if each.startswith(FILTERED)}
        filters |= folder_columns(used.name) - folder_columns(use.name.name)
        if filters:
            use = structs.replace(use, filter_columns=tuple(sorted(filters)))
        columns = self._contents.schema(use.schema) if use.schema and use.schema != DELETED else ()
        if is_iceberg_metadata_table(columns):
            return structs.replace(use, schema=None, metadata_columns=tuple(".".join(path) for path in columns))
        return use

    def _schema_hash(self, content_hash: str | None) -> str | None:
        """Return the hash of a schema facet; None for a facet without columns, which must not replace other schemas."""
        return content_hash if not content_hash or self._contents.schema(content_hash) else None

    def _lineage_hash(self, content_hash: str | None) -> str | None:
        if not content_hash:
            return content_hash
        lines = self._contents.lineage(content_hash)
        return content_hash if any(line.has_source or line.output_column is not None for line in lines) else None

    def _symlinks(self, used: UsedDataset, name: Name) -> Iterator[Symlink]:
        for link in used.symlinks:
            other = self._canonical_name(link.namespace, link.name)
            if other != name:
                yield Symlink(other, (link.type or "").upper() == "LOCATION")


def make_facts_reader(names: NameRules, contents: FacetContents) -> FactsReader:
    """Return a reader of facts that applies these rules for names and jobs."""
    return FactsReader(names.canonical, contents, names.canonical_job, names.has_complete_lists, names.of_events)


def _apply_name_forms(use: DatasetUse, name_forms: Mapping[Name, Name]) -> DatasetUse:
    """Return a dataset with its names replaced by the datasets that they mean in the event."""
    return structs.replace(
        use,
        name=name_forms.get(use.name, use.name),
        previous_name=use.previous_name and name_forms.get(use.previous_name, use.previous_name),
        symlinks=tuple(link._replace(name=name_forms.get(link.name, link.name)) for link in use.symlinks),
    )


def _is_stored(contents: FacetContents, read_content: Callable[[str], object], content: Content) -> bool:
    """Tell whether a facet is stored as the same kind of facet.

    The hash alone does not decide, because an empty schema facet and an empty lineage facet have the same hash.
    read_content: returns the stored facet of the kind by its hash.
    """
    try:
        return content.content_hash in contents and read_content(content.content_hash) is not None
    except KeyError:
        return False


def _sent_job(sent: Sent) -> Name:
    return Name(sent.job_namespace or "", sent.job_name or "").shortened


def _versions_by_index(shape: ShapeFacts, sent: Sequence[str | None]) -> dict[int, str]:
    """Return the dataset versions of one event, by the index of the dataset in `ShapeFacts.uses`."""
    return {at: text for at, place in enumerate(shape.dataset_indexes) if (text := sent[place]) is not None}


def _run_key_in_facet(run_id: str | None, namespace: str | None, name: str | None) -> str | None:
    """Return the key of the run that a `parent` facet names; None if the facet gives no run id."""
    return run_key(run_id, Name(namespace or "", name or "")) if run_id else None


def _run_key(sent: Sent, content: EventContent) -> str:
    """Return the key of the run. A declaration has the same key as the older declarations that it replaces."""
    if content.kind == "RUN":
        return run_key(sent.run_id or "", _sent_job(sent))
    if content.kind == "JOB":
        return msgspec.json.encode(["job", *job_key(content.job, None)]).decode()
    names = chain.from_iterable(output.name for output in content.outputs)
    return msgspec.json.encode(["dataset", sent.producer, *names]).decode()


def _processing_and_snapshot(shape: EventShape) -> tuple[str | None, bool]:
    """Return (processing type of the job or None without `jobType`, whether each event is a complete snapshot)."""
    if not any(facet.name == "jobType" for facet in shape.job_facets):
        return None, False
    processing = (shape.processing_type or "").upper()
    if processing not in ("STREAMING", "SERVICE"):
        processing = "STREAMING" if (shape.integration or "").upper() == "FLINK" else "BATCH"
    return processing, (shape.emission or "").upper() == "COMPLETE_SNAPSHOT"
