"""Rules 4, 5 and 11: derive the lineage of each output of one run."""

from collections.abc import Container, Iterable, Mapping, Sequence, Set
from itertools import chain

from msgspec.structs import replace

from headwater.lineage.edges.accounted_columns import (
    is_declaration_producer,
)
from headwater.lineage.edges.facet_contents import Transformation
from headwater.lineage.edges.job_targets import JobTargets
from headwater.lineage.edges.output_edges import (
    ColumnKeyCache,
    OutputContext,
    derive_lineage_of_output,
    keys_of_inferred_columns,
)
from headwater.lineage.edges.output_lineage import (
    ColumnMention,
    Edge,
    EdgeRules,
    OutputLineage,
    TimedLine,
)
from headwater.lineage.edges.run_sql import (
    ResolvedLines,
    RunSql,
    add_ambiguous_names,
    add_sql_status,
    resolve_unlisted_names,
)
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.jobs import is_rdd_job
from headwater.lineage.runs.merged_run import Run, RunDataset


def derive_output_lineages(run: Run, rules: EdgeRules) -> list[OutputLineage]:
    """Return the lineage of a run, with one item for each output and for each target of its `lineage` facets.

    The list is empty for a batch run that did not complete.
    """
    return [_with_origin(run, each) for each in _derive_lineages(run, rules)] if run.may_have_edges else []


def derive_attempted_lineages(run: Run, rules: EdgeRules) -> list[OutputLineage]:
    """Return the lineage of a batch run or attempt that did not complete (rule 6.10); empty for any other run."""
    if run.may_have_edges:
        return []
    entry_lines = _entry_lines(run, rules)
    return [_with_origin(run, _as_attempt(run, each, entry_lines, rules)) for each in _derive_lineages(run, rules)]


def _with_origin(run: Run, lineage: OutputLineage) -> OutputLineage:
    """Return the lineage of an output, marked if inlets and outlets of an Airflow task declare it (rule 4.14)."""
    written = run.outputs.get(lineage.output) if lineage.output else None
    reads_assets = any(dataset.is_asset for dataset in run.inputs.values()) and not lineage.has_column_lineage
    is_declared = reads_assets or (written is not None and written.is_asset)
    return replace(lineage, is_declared=True) if is_declared else lineage


def _as_attempt(run: Run, lineage: OutputLineage, entry_lines: Container[Name], rules: EdgeRules) -> OutputLineage:
    """Return the lineage of an output as that of an attempt, with its state and more inputs.

    An attempt may have written what any of its events reports. So sources in `columnLineage` that otherwise does not
    count become inputs of the output.
    entry_lines: contains the outputs with entries in `lineage` facets. Their `columnLineage` otherwise does not count.
    """
    written = run.outputs.get(lineage.output) if lineage.output else None
    if written is None:
        return replace(lineage, attempt_state=run.state)
    ignored = ((written.lineage, written.lineage_us),) if written.lineage and lineage.output in entry_lines else ()
    lines = [
        (line, at) for content, at in (*written.replaced_lineage, *ignored) for line in rules.contents.lineage(content)
    ]
    sources = {rules.naming.resolve_input(run.mention_source, line.source, at) for line, at in lines if line.source}
    more = tuple(sorted(sources.difference(lineage.read_datasets)))
    has_conflicts = written.has_conflicts or bool(ignored) or run.has_scripts
    others = (*lineage.other_inputs, *more)
    return replace(lineage, attempt_state=run.state, other_inputs=others, has_conflicting_events=has_conflicts)


def _derive_lineages(run: Run, rules: EdgeRules) -> list[OutputLineage]:
    job_targets = JobTargets(run, rules)
    run = job_targets.run
    entry_lines, run_inputs = _entry_lines(run, rules), tuple(sorted(run.inputs))
    observed = {name: _observed_lines(each, rules) for name, each in run.outputs.items() if name not in entry_lines}
    sql = RunSql(run, rules)
    resolved = {name: resolve_unlisted_names(run, name, own, sql, rules) for name, own in observed.items()}
    observed = {name: resolved[name].lines for name in observed}
    has_run_inputs = bool(run.inputs or job_targets.lines) or any(
        line.has_source for own in (*observed.values(), *entry_lines.values()) for line, _ in own
    )
    is_declared = is_declaration_producer(run.producer)
    is_empty_sourceless = is_declared or not has_run_inputs
    without_lineage = {
        name
        for name, own in observed.items()
        if not (own and (is_empty_sourceless or any(line.has_source for line, _ in own)))
    }
    from_sql = sql.inferred_by_output if without_lineage else {}  # the SQL is parsed only if an output needs it
    inferred = {name: found for name, found in from_sql.items() if name in without_lineage}
    lines: dict[Name, Sequence[TimedLine]] = {
        name: () if name in without_lineage else own for name, own in observed.items()
    }
    lines.update((name, [(line, None) for line in found.edges]) for name, found in inferred.items())
    is_without_lineage = not entry_lines and not job_targets.lines and not any((*lines.values(), *observed.values()))
    if is_without_lineage and _is_input_echo(run):
        return []
    outputs = {*run.outputs, *entry_lines}
    if not outputs:
        return job_targets.lineage_without_output() if job_targets.lines else _lineage_without_outputs(run)
    is_only_output = len(outputs) == 1
    sources, all_lines = run_inputs, {**entry_lines, **lines}
    if without_lineage and not is_only_output and not all(name in inferred for name in without_lineage):
        sources = _all_source_datasets(run, run_inputs, all_lines, resolved, rules)
    filters, metadata_keys = (
        (*_filter_edges(run, rules), *job_targets.dataset_wide_edges),
        _metadata_columns(run, rules),
    )
    contexts = {
        output: OutputContext(
            (run_inputs if is_only_output else () if own else _exclude_output(output, sources, run)),
            run_inputs,
            metadata_keys,
            is_empty_sourceless=is_empty_sourceless,
            sql=sql,
            filter_edges=filters,
            doubtful_sources=resolved[output].doubtful_sources,
            has_all_columns=is_declared,
            sql_keys=keys_of_inferred_columns(output, inferred[output], rules) if output in inferred else frozenset(),
            is_insert=output in inferred and inferred[output].is_insert,
            has_run_inputs=has_run_inputs,
        )
        for output, own in lines.items()
    }
    entry_context = OutputContext(
        (), run_inputs, metadata_keys, is_empty_sourceless=True, filter_edges=filters, has_run_inputs=has_run_inputs
    )
    contexts.update(dict.fromkeys(entry_lines, entry_context))
    found = {
        output: derive_lineage_of_output(run, output, own, contexts[output], rules) for output, own in all_lines.items()
    }
    # Lineage of the whole output alone is not column lineage: all sources of the run may feed the output (rule 4.6).
    dataset_wide_only = [name for name, own in lines.items() if own and not found[name].has_column_lineage]
    if dataset_wide_only and not is_only_output:
        sources = _all_source_datasets(run, run_inputs, all_lines, resolved, rules)
        for name in dataset_wide_only:
            context = contexts[name]._replace(additional_inputs=_exclude_output(name, sources, run))
            found[name] = derive_lineage_of_output(run, name, all_lines[name], context, rules)
    with_source_jobs = [job_targets.add_source_jobs(each) for each in found.values()]
    with_run_values = _add_run_wide_values(run, with_source_jobs, all_lines.values(), job_targets)
    with_names = [add_ambiguous_names(each, resolved, run) for each in with_run_values]
    with_sql_status = [add_sql_status(each, inferred, sql, entry_lines) for each in with_names]
    with_mentions = [_add_column_mentions(run, each, entry_lines, metadata_keys, rules) for each in with_sql_status]
    return [*with_mentions, *job_targets.lineage_of_other_jobs()]


def _all_source_datasets(
    run: Run,
    run_inputs: tuple[Name, ...],
    lines_by_output: Mapping[Name, Sequence[TimedLine]],
    resolved: Mapping[Name, ResolvedLines],
    rules: EdgeRules,
) -> tuple[Name, ...]:
    """Return the inputs of a run and the sources in the lineage of all its outputs, sorted."""
    found: dict[tuple[int, int | None], Name] = {}
    for output, own in lines_by_output.items():
        doubtful = resolved[output].doubtful_sources if output in resolved else frozenset()
        for line, at in own:
            if line.source and (id(line.source), at) not in found and (at is None or line.source not in doubtful):
                source = line.source if at is None else rules.naming.resolve_input(run.mention_source, line.source, at)
                found[id(line.source), at] = source
    more = set(found.values()) - {*run_inputs}
    return tuple(sorted({*run_inputs, *more})) if more else run_inputs


def _exclude_output(output: Name, sources: tuple[Name, ...], run: Run) -> tuple[Name, ...]:
    """Return sources without the output itself. If the run lists the output as an input, return all sources."""
    if len(sources) == len(run.inputs) or output in run.inputs:
        return sources  # one tuple shared by thousands of outputs
    return tuple(name for name in sources if name != output)


def _is_input_echo(run: Run) -> bool:
    """Rule 11.2: tell whether the outputs of a run without column lineage only repeat its inputs.

    A run that did not complete may have written an output before it reported ALTER.
    """
    if not run.inputs or run.inputs.keys() != run.outputs.keys():
        return False
    altered = (
        output.lifecycle == "ALTER" and (run.may_have_edges or output.is_only_altered)
        for output in run.outputs.values()
    )
    return is_rdd_job(run.job) or all(altered)


def _add_column_mentions(
    run: Run,
    lineage: OutputLineage,
    entry_lines: Mapping[Name, Sequence[TimedLine]],
    metadata_keys: Mapping[Name, Set[str]],
    rules: EdgeRules,
) -> OutputLineage:
    """Return the lineage with the columns that lineage facets of the run name although no edge has them (rule 12.9).

    metadata_keys: the keys of the columns of metadata tables, by input. The result omits these columns.
    """
    output = lineage.output
    written = run.outputs.get(output) if output else None
    entries = entry_lines.get(output, ()) if output else ()
    if output is None or not (entries or (written and written.lineage) or (written and written.replaced_lineage)):
        return lineage
    targets, source_context = ColumnKeyCache(output, rules), run.mention_source
    found: dict[Name, set[str]] = {}
    newest = _observed_lines(written, rules) if written else []
    for line, _ in (*entries, *newest):
        if line.output_column is not None and (line.source is None or line.source_column is None or entries):
            found.setdefault(output, set()).add(targets[line.output_column])
    replaced = written.replaced_lineage if written else ()
    older = [(line, at) for content_hash, at in replaced for line in rules.contents.lineage(content_hash)]
    for line, at in (*older, *(newest if entries else ())):
        if line.output_column is not None:
            found.setdefault(output, set()).add(targets[line.output_column])
        if line.source and line.source_column is not None:
            source = rules.naming.resolve_input(source_context, line.source, at or 0)
            found.setdefault(source, set()).add(rules.column_key(source, line.source_column))
    if not found:
        return lineage
    for name, columns in metadata_keys.items():
        found.get(name, set()).difference_update(columns)
    for edge in lineage.edges:
        found.get(edge.source, set()).discard(edge.column)
        found.get(output, set()).difference_update(
            lineage.dataset_wide_targets if edge.target is None else (edge.target,)
        )
    mentions = [ColumnMention(dataset, tuple(sorted(columns))) for dataset, columns in sorted(found.items()) if columns]
    return replace(lineage, column_mentions=tuple(mentions))


def _lineage_without_outputs(run: Run) -> list[OutputLineage]:
    """Return the lineage of a run without outputs. Its inputs are sources, and are opaque unless it is a batch run."""
    if not run.inputs or run.has_drops or run.kind != "RUN":
        return []
    read = tuple(sorted(run.inputs))
    return [OutputLineage(None, source_datasets=read, opaque_inputs=read if run.processing != "BATCH" else ())]


def _add_run_wide_values(
    run: Run, lineages: Sequence[OutputLineage], lines: Iterable[Sequence[TimedLine]], job_targets: JobTargets
) -> list[OutputLineage]:
    """Add the values that depend on the whole run to the lineage of each output.

    These values are the opaque inputs, the sources of unaccounted columns, and whether the run reports transformations.
    lines: the lines of each output.
    """
    covered = {name for each in lineages for name in each.column_sources}
    shows = (
        any(line.has_transformation for own in lines for line, _ in own if line.source_column is not None)
        or not covered
    )
    uncovered = dict.fromkeys(sorted(name for name in run.inputs if name not in covered))
    hidden = tuple(uncovered)
    every_input = _datasets_read_for_any_output(lineages) if any(each.unaccounted_columns for each in lineages) else ()
    every_job = tuple(sorted({job for each in lineages for job in each.source_jobs}))
    with_values = [
        replace(
            _add_all_sources(each, every_input, every_job),
            opaque_inputs=hidden
            if _opaque_inputs_equal_uncovered(each, covered, uncovered)
            else _opaque_inputs(run, each, covered, hidden),
            has_transformations=shows,
        )
        for each in lineages
    ]
    if not job_targets.opaque_inputs:
        return with_values
    return [_add_opaque_inputs(each, job_targets.opaque_inputs) for each in with_values]


def _add_opaque_inputs(lineage: OutputLineage, more_inputs: Set[Name]) -> OutputLineage:
    """Return a copy of the lineage with additional opaque inputs, even those that column lineage covers."""
    itself = {lineage.output} if lineage.has_column_lineage else set()
    return replace(lineage, opaque_inputs=tuple(sorted({*lineage.opaque_inputs, *more_inputs} - itself)))


def _datasets_read_for_any_output(lineages: Sequence[OutputLineage]) -> tuple[Name, ...]:
    """Return the datasets that a run reads for any of these outputs, sorted."""
    # Outputs share these tuples. With the id as key, each tuple is read once instead of thousands of times.
    parts = {id(part): part for each in lineages for part in (each.source_datasets, each.other_inputs)}
    return tuple(sorted(set(chain.from_iterable(parts.values()))))


def _add_all_sources(lineage: OutputLineage, every_input: Sequence[Name], every_job: tuple[Name, ...]) -> OutputLineage:
    """Return the lineage with everything that may feed unaccounted columns of the output.

    every_input, every_job: the datasets and jobs that the run reads for any output. An output without unaccounted
    columns is returned as it is.
    """
    if not lineage.unaccounted_columns:
        return lineage
    own = set(lineage.source_datasets)
    others = tuple([name for name in every_input if name not in own]) if own else tuple(every_input)
    return replace(lineage, other_inputs=others, source_jobs=every_job)


def _opaque_inputs_equal_uncovered(lineage: OutputLineage, covered: Set[Name], uncovered: Mapping[Name, None]) -> bool:
    """Tell whether the opaque inputs of an output are exactly the uncovered inputs of the run.

    If so, thousands of outputs can share one tuple.
    """
    if not lineage.has_column_lineage or lineage.output in uncovered:
        return False
    return all(name in uncovered or name in covered or name == lineage.output for name in lineage.source_datasets)


def _opaque_inputs(run: Run, lineage: OutputLineage, covered: Set[Name], uncovered: Iterable[Name]) -> tuple[Name, ...]:
    """Rules 4.5 and 4.6: return the opaque inputs of an output.

    These are the inputs that the run does not cover. All sources of an output without column lineage are opaque, too.
    covered: the datasets that the run covers (rule 4.4). uncovered: the inputs that are not in `covered`.
    """
    if lineage.has_column_lineage:
        hidden = {*uncovered, *lineage.source_datasets} - covered - {lineage.output}
    elif not lineage.other_inputs:
        return lineage.source_datasets  # the sources contain all inputs
    else:
        hidden = {
            *lineage.source_datasets,
            *(name for name in run.inputs if name not in covered or name == lineage.output),
        }
    return tuple(sorted(hidden))


def _observed_lines(dataset: RunDataset, rules: EdgeRules) -> list[TimedLine]:
    return [(line, dataset.lineage_us) for line in rules.contents.lineage(dataset.lineage)] if dataset.lineage else []


def _entry_lines(run: Run, rules: EdgeRules) -> dict[Name, list[TimedLine]]:
    """Return the lines of all `lineage` facets of a run, by their target dataset."""
    own = [(dataset.name, *declared) for dataset in run.outputs.values() for declared in dataset.declared_facets]
    found: dict[Name, list[TimedLine]] = {}
    for content_hash, time_us in run.declared_facets:
        for line in rules.contents.lineage(content_hash):
            if line.target:
                target = rules.naming.resolve_output(run.mention_source, line.target, time_us)
                found.setdefault(target, []).append((line, time_us))
    for name, content_hash, time_us in own:
        found.setdefault(name, []).extend((line, time_us) for line in rules.contents.lineage(content_hash))
    return found


def _metadata_columns(run: Run, rules: EdgeRules) -> dict[Name, Set[str]]:
    """Return, by input, the keys of the columns of a metadata table that the run reads as this input (rule 11.4).

    The result omits columns that the run also lists for the table itself.
    """
    metadata: dict[Name, Set[str]] = {}
    for name, dataset in run.inputs.items():
        if dataset.metadata_columns:
            own = rules.contents.schema(dataset.schema) if dataset.schema else ()
            listed = {rules.column_key(name, ".".join(path)) for path in own}
            metadata[name] = {rules.column_key(name, column) for column in dataset.metadata_columns} - listed
    return metadata


def _filter_edges(run: Run, rules: EdgeRules) -> tuple[Edge, ...]:
    """Rule 4.11: return dataset-wide edges from the columns in the conditions that select the rows that a run reads."""
    return tuple(
        Edge(name, rules.column_key(name, column), None, _FILTER_TRANSFORMATION)
        for name, dataset in sorted(run.inputs.items())
        for column in dataset.filter_columns
    )


_FILTER_TRANSFORMATION = Transformation(is_direct=False, is_masked=False, subtype="FILTER", description=None)
