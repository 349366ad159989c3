"""Convert events of runs to Atlas entities by the rules of lineage, without network access or the current time.

A job is one entity with the state of its newest run. For each group of outputs with the same inputs, there is one more
process entity. Its name contains job, inputs and outputs, so a later run with the same inputs and outputs updates it.
References between entities use qualified names.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from itertools import chain
from typing import Any
from urllib.parse import quote

import msgspec

from headwater.events.times import iso_time
from headwater.lineage.edges.facet_contents import FacetContentsInMemory
from headwater.lineage.edges.output_lineage import EdgeRules, OutputLineage
from headwater.lineage.edges.run_edges import derive_output_lineages
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.name_resolution import NameResolver, event_bindings
from headwater.lineage.names.operations import count_name_parts
from headwater.lineage.runs.event_reading import FactsReader
from headwater.lineage.runs.jobs import job_key, run_id_of
from headwater.lineage.runs.merged_run import Run, merge_run
from headwater.lineage.runs.run_facts import RunFacts
from headwater.sinks.interface.shape import SinkEvent
from headwater.sinks.targets.purview.atlas import PLACEHOLDER, PROCESS, Entity, entity_reference
from headwater.sinks.targets.purview.columns import MARK, ColumnBuilder
from headwater.sinks.targets.purview.names import QualifiedName, QualifiedNames


class EntityBuilder:
    """Converts the events of one batch. Not thread-safe."""

    def __init__(self, names: QualifiedNames) -> None:
        self._names = names
        self._sent: dict[Name, Name] = {}
        """Maps a canonical name to the spelling that is sent, so that a batch spells each dataset in one way."""
        self._contents = FacetContentsInMemory()
        self._columns = ColumnBuilder()
        self._reader = FactsReader(self._canonical_name, self._contents, event_rules=names.forms.of_events)

    def read_facts(self, event: SinkEvent) -> RunFacts:
        """Read the facts of an event, and store the schemas that it contains."""
        read = self._reader.read_body(event.body.decode())
        self._columns.add_schemas(read.contents)
        facets = self._reader.add_shape(read.event_shape, read.contents)
        return self._reader.facts_of_event(event.head.event_id, event.head.received_us, read, facets)

    def job_state_entities(self, fact: RunFacts) -> list[Entity]:
        """Return the job entity of an event, with the state that the event reports."""
        return [_job_entity(merge_run([fact], NameResolver()))]

    def run_entities(self, facts: Sequence[RunFacts]) -> list[Entity]:
        """Return the entities of one run, or one declaration: datasets before the processes that refer to them."""
        naming = NameResolver()
        naming.add_bindings(link for fact in facts for link in event_bindings(fact))
        run = merge_run(facts, naming)
        rules = EdgeRules(self._contents, naming, lambda _, column: column, lambda _, __: None)
        mentions = (*run.inputs.values(), *run.outputs.values())
        schemas = {each.name.without_generation: each.schema for each in mentions if each.schema}
        of_run = partial(self._dataset_and_column_entities, schemas, iso_time(run.last_us) or "")
        datasets: dict[str, list[Entity]] = {}
        processes = [] if run.kind == "DATASET" else [_job_entity(run)]
        for inputs, lineages in _group_by_inputs(derive_output_lineages(run, rules)).items():
            outputs = sorted(each.output.without_generation for each in lineages if each.output)
            if run.kind == "DATASET" and not inputs:
                datasets |= dict(map(of_run, outputs))  # it describes them, and no job makes them
                continue
            datasets |= dict(map(of_run, [*inputs, *outputs]))
            processes.append(self._process_entity(run, inputs, outputs, lineages))
        return [*chain.from_iterable(datasets.values()), *processes]

    def _dataset_and_column_entities(
        self, schemas: Mapping[Name, str], time: str, name: Name
    ) -> tuple[str, list[Entity]]:
        """Return a dataset's qualified name, and its entity followed by its columns.

        There are columns only if the dataset's rule defines them and `schemas`, a mapping to content hashes, has a
        schema.
        """
        found = self._qualified_name(name)
        attributes = {"name": found.shown, "qualifiedName": found.qualified_name}
        if found.type == PLACEHOLDER:
            attributes |= dict(zip(("openlineageNamespace", "openlineageName"), name.parts, strict=True))
        table: Entity = {"typeName": found.type, "attributes": attributes}
        if found.columns is None:
            return found.qualified_name, [table]
        table["customAttributes"] = {MARK: "made"}
        columns = self._columns.columns_of_table(table, found.columns, schemas[name], time) if name in schemas else ()
        return found.qualified_name, [table, *columns]

    def _process_entity(
        self, run: Run, inputs: Sequence[Name], outputs: Sequence[Name], lineages: Sequence[OutputLineage]
    ) -> Entity:
        read, written = self._dataset_references(inputs), self._dataset_references(outputs)
        entity = _job_entity(run)
        hashes = f"{self._names_hash(inputs)}->{self._names_hash(outputs)}"
        entity["attributes"] |= {
            "qualifiedName": f"{entity['attributes']['qualifiedName']}/processes/{hashes}",
            "inputs": read,
            "outputs": written,
            "columnMapping": msgspec.json.encode(self._column_mapping(lineages)).decode(),
        }
        return entity

    def _canonical_name(self, namespace: str, name: str) -> Name:
        canonical = self._names.forms.canonical(namespace, name)
        if (namespace, name) != canonical.parts:
            sent = Name(namespace, name)
            self._sent[canonical] = min(self._sent.get(canonical, sent), sent, key=_spelling_preference)
        return canonical

    def _qualified_name(self, name: Name) -> QualifiedName:
        return self._names.qualified_name(name, self._sent.get(name))

    def _dataset_references(self, names: Iterable[Name]) -> list[Entity]:
        found = {each.qualified_name: each for each in map(self._qualified_name, names)}
        return [entity_reference(each.type, each.qualified_name) for _, each in sorted(found.items())]

    def _names_hash(self, names: Iterable[Name]) -> str:
        """Return a hash of canonical names for the name of a process; different spellings result in the same hash."""
        found = sorted({self._names.qualified_name(name).qualified_name for name in names})
        return sha256("\n".join(found).encode()).hexdigest()[:32]

    def _column_mapping(self, lineages: Iterable[OutputLineage]) -> list[dict[str, Any]]:
        """Return the value of `columnMapping`: pairs of columns for each pair of datasets, only from direct edges."""
        pairs: dict[tuple[str, str], dict[tuple[str, str], None]] = {}
        for lineage in lineages:
            for edge in lineage.edges:
                if lineage.output and edge.target is not None and edge.transformation.is_direct:
                    pair = tuple(
                        self._qualified_name(each.without_generation).qualified_name
                        for each in (edge.source, lineage.output)
                    )
                    pairs.setdefault((pair[0], pair[1]), {})[edge.column, edge.target] = None
        return [
            {
                "DatasetMapping": {"Source": source, "Sink": sink},
                "ColumnMapping": [{"Source": column, "Sink": target} for column, target in sorted(columns)],
            }
            for (source, sink), columns in sorted(pairs.items())
        ]


def _group_by_inputs(lineages: Sequence[OutputLineage]) -> dict[tuple[Name, ...], list[OutputLineage]]:
    """Group the lineages of outputs by their inputs, because one process connects all its inputs to all its outputs."""
    same: dict[tuple[int, int], list[OutputLineage]] = {}
    for each in lineages:  # thousands of outputs share one tuple of inputs
        same.setdefault((id(each.source_datasets), id(each.column_sources)), []).append(each)
    found: dict[tuple[Name, ...], list[OutputLineage]] = {}
    for outputs in same.values():
        inputs = {name.without_generation for name in (*outputs[0].source_datasets, *outputs[0].column_sources)}
        found.setdefault(tuple(sorted(inputs)), []).extend(outputs)
    return found


def _job_entity(run: Run) -> Entity:
    """Return the entity of a job; for declared datasets, an entity for their producer."""
    namespace, name = run.job_key.parts if run.kind != "DATASET" else ("declared", run.producer)
    shown = job_key(run.job, None).name if run.kind != "DATASET" else name  # the job key may contain an artifact's id
    return {
        "typeName": PROCESS,
        "attributes": {
            "name": shown,
            "qualifiedName": f"openlineage://{quote(namespace, safe='')}/{name}",
            "jobNamespace": namespace,
            "jobName": shown,
            "openlineageState": run.state,
            "lastEventTime": iso_time(run.last_us) or "",
            "openlineageRunId": run_id_of(run.key) if run.kind == "RUN" else "",
        },
    }


def _spelling_preference(sent: Name) -> tuple[int, str, str]:
    """Return a sort key that prefers a table without a schema, then capital letters, whatever the order of events."""
    return count_name_parts(sent.name), sent.name, sent.namespace
