"""Rule 4.10: resolve names in lineage that a run lists neither as input nor as output.

`RunSql` provides the SQL of the run as evidence.
"""

from collections.abc import Container, Mapping, Sequence, Set
from functools import cached_property
from typing import NamedTuple

from msgspec.structs import replace

from headwater.lineage.edges.output_lineage import AmbiguousName, EdgeRules, OutputLineage, TimedLine
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.merged_run import Run
from headwater.lineage.sql.inference import InferredLineage, defined_names, infer_lineage
from headwater.lineage.sql.tables import Parts, name_parts


class RunSql:
    """The datasets of a run and the lineage in its SQL, computed on demand. All outputs of a run share this object."""

    def __init__(self, run: Run, rules: EdgeRules):
        self._run = run
        self._rules = rules

    @cached_property
    def listed_datasets(self) -> Set[Name]:
        """The datasets that the run lists as inputs or outputs, without generations."""
        return {name.without_generation for name in (*self._run.inputs, *self._run.outputs)}

    @cached_property
    def has_other_inputs(self) -> bool:
        """Whether the run lists an input that is not one of its outputs."""
        return not {name.without_generation for name in self._run.inputs} <= {
            name.without_generation for name in self._run.outputs
        }

    @cached_property
    def inferred_by_output(self) -> Mapping[Name, InferredLineage]:
        """The lineage that follows from the SQL of the run, by output. It is empty if the run has no SQL."""
        run, rules = self._run, self._rules
        if not run.script:
            return {}
        return infer_lineage(run.script, rules.contents, lambda dataset: rules.schema_at(dataset, run.time_us))

    def inputs_with_suffix(self, name: Name) -> tuple[Name, ...]:
        """Return the inputs that an abbreviated name may mean.

        These are the inputs with a name in the same namespace that ends with the parts of `name`.
        """
        end = name_parts(name.name)
        same = self._input_parts.get(name.namespace, ()) if end else ()
        return tuple(sorted({dataset for dataset, parts in same if parts[-len(end) :] == end}))

    @cached_property
    def _input_parts(self) -> Mapping[str, Sequence[tuple[Name, Parts]]]:
        found: dict[str, list[tuple[Name, Parts]]] = {}
        for dataset in self._run.inputs.values():
            for name in dataset.names:
                found.setdefault(name.namespace, []).append((dataset.name, name_parts(name.name)))
        return found

    def is_defined_in_sql(self, name: Name) -> bool:
        """Tell whether the SQL defines a CTE, an alias or a temporary table named like the last parts of `name`."""
        parts = name_parts(name.name)
        return any(parts[-len(own) :] == own for own in self._defined_names)

    def is_fully_read(self, output: Name) -> bool:
        """Tell whether the SQL that writes an output was read completely and uses no view with unknown content."""
        found = self.inferred_by_output.get(output)
        return found is not None and found.unread is None and found.is_complete

    @cached_property
    def _defined_names(self) -> frozenset[Parts]:
        script = self._run.script
        return defined_names(script, self._rules.contents) if script else frozenset()


class ResolvedLines(NamedTuple):
    """The lines of an output after rule 4.10 resolved the names that the run does not list.

    lines: the lines. If a source is an abbreviation of exactly one input, this input replaces the source.
    doubtful_sources: the sources, by their names in the lines, that the SQL explains (rule 4.10a).
    ambiguous_names: the names that may mean several inputs (rule 4.10d).
    suffix_inputs: the inputs that replaced abbreviated names (rule 4.10b).
    doubtful_datasets: the datasets that `doubtful_sources` would mean without the SQL.
    """

    lines: list[TimedLine]
    doubtful_sources: frozenset[Name] = frozenset()
    ambiguous_names: tuple[AmbiguousName, ...] = ()
    suffix_inputs: tuple[Name, ...] = ()
    doubtful_datasets: tuple[Name, ...] = ()


def add_ambiguous_names(
    lineage: OutputLineage, resolved_by_output: Mapping[Name, ResolvedLines], run: Run
) -> OutputLineage:
    """Return the lineage of an output with the names that may mean several inputs, and with the doubtful sources.

    An abbreviation of one input may also mean any input that the run does not cover.
    resolved_by_output: the resolved lines of each output.
    """
    names = resolved_by_output.get(lineage.output) if lineage.output else None
    if names is not None and names.doubtful_datasets:
        lineage = replace(lineage, doubtful_sources=names.doubtful_datasets)
    if names is None or not (names.ambiguous_names or names.suffix_inputs):
        return lineage
    hidden = tuple(name for name in lineage.opaque_inputs if name in run.inputs)
    ends = [AmbiguousName(name, hidden) for name in names.suffix_inputs] if hidden else []
    return replace(lineage, ambiguous_names=(*names.ambiguous_names, *ends))


def resolve_unlisted_names(
    run: Run, output: Name, sent_lines: list[TimedLine], sql: RunSql, rules: EdgeRules
) -> ResolvedLines:
    """Rule 4.10: resolve the names in the lineage of an output that its run lists neither as input nor as output.

    sent_lines: the lines in `columnLineage` of the output.
    """
    sources = {id(line.source): (line.source, at) for line, at in sent_lines if line.source}
    datasets = {name: rules.naming.resolve_input(run.mention_source, name, at or 0) for name, at in sources.values()}
    new = [name for name, dataset in datasets.items() if dataset not in run.inputs and dataset not in run.outputs]
    names = [name for name in new if datasets[name].without_generation not in sql.listed_datasets]
    if not names:
        return ResolvedLines(sent_lines)
    lacks_transformations = not any(line.has_transformation for line, _ in sent_lines if line.source_column is not None)
    doubtful = {name for name in names if sql.is_defined_in_sql(name)}
    if lacks_transformations and len(doubtful) < len(names) and sql.is_fully_read(output):
        doubtful.update(names)
    by_suffix = {name: sql.inputs_with_suffix(name) for name in names if name not in doubtful}
    inputs = {name: found[0] for name, found in by_suffix.items() if len(found) == 1}
    lines: list[TimedLine] = [
        (replace(line, source=inputs[line.source]), None) if line.source in inputs else (line, at)
        for line, at in sent_lines
    ]
    doubts: list[AmbiguousName] = []
    if sql.has_other_inputs:
        unclear = {datasets[name]: found for name, found in by_suffix.items() if len(found) != 1}
        every = {*run.inputs, *unclear}  # an event may leave out inputs that the lineage names
        unclear = {name: found or tuple(sorted(every - {name})) for name, found in unclear.items()}
        doubts = [AmbiguousName(name, unclear[name], name) for name in sorted(unclear)]
    explained = tuple(sorted({datasets[name] for name in doubtful}))
    return ResolvedLines(lines, frozenset(doubtful), tuple(doubts), tuple(sorted(set(inputs.values()))), explained)


def add_sql_status(
    lineage: OutputLineage, inferred: Mapping[Name, InferredLineage], sql: RunSql, entry_lines: Container[Name]
) -> OutputLineage:
    """Return the lineage of an output, marked as inferred from SQL or with the reason why the SQL is incomplete.

    inferred: the lineage from SQL of each output for which events report no lineage.
    entry_lines: contains the outputs with entries in `lineage` facets.
    """
    found = inferred.get(lineage.output) if lineage.output else None
    if found is None and lineage.unaccounted_columns and lineage.output and lineage.output not in entry_lines:
        from_sql = sql.inferred_by_output.get(lineage.output)
        return replace(lineage, unread_sql_reason=(from_sql.unread or _COLUMNS_DIFFER) if from_sql else None)
    if found is None:
        return lineage
    opaque = (
        tuple(sorted(found.possible_sources.union(lineage.opaque_inputs)))
        if lineage.has_column_lineage
        else lineage.opaque_inputs
    )
    return replace(
        lineage, is_inferred=lineage.has_column_lineage, unread_sql_reason=found.unread, opaque_inputs=opaque
    )


_COLUMNS_DIFFER = "its columns, or what they are made of, are not those of the reported lineage"
