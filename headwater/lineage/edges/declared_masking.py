"""Apply `masking.yaml` and `constants.yaml` to edge sets: users' rules override what producers report."""

from msgspec.structs import replace

from headwater.lineage.edges.accounting import ALL_COLUMNS
from headwater.lineage.edges.current_candidates import JobOutput
from headwater.lineage.edges.run_edges import Edge, OutputLineage
from headwater.lineage.rules.selectors import SelectedColumn
from headwater.lineage.rules.user_rules import UserRules


def remasked(rules: UserRules, job_output: JobOutput, lineage: OutputLineage) -> OutputLineage:
    """Return an edge set in which masks and accounted columns follow the user's rules."""
    lineage = _without_constants(rules, lineage)
    if not rules.masking or lineage.output is None:
        return lineage
    edges = tuple(_remasked(rules, job_output, lineage, edge) for edge in lineage.edges)
    return lineage if edges == lineage.edges else replace(lineage, edges=edges)


def _without_constants(rules: UserRules, lineage: OutputLineage) -> OutputLineage:
    output, unaccounted = lineage.output, lineage.unaccounted
    if output is None or not unaccounted or not rules.constants or unaccounted == (ALL_COLUMNS,):
        return lineage
    constants = {key for key in unaccounted if rules.is_constant(output, key)}
    left = tuple(key for key in unaccounted if key not in constants)
    return replace(lineage, unaccounted=left, bare=tuple(sorted(constants.union(lineage.bare))))


def _remasked(rules: UserRules, job_output: JobOutput, lineage: OutputLineage, edge: Edge) -> Edge:
    assert lineage.output is not None  # noqa: S101 - the caller looked
    output = SelectedColumn(*lineage.output.parts, edge.target or "")
    source = SelectedColumn(*edge.source.parts, edge.column)
    declared = rules.masking_of(job_output.job.name, output, source, edge.transformation.description or "")
    return edge if declared is None else replace(edge, transformation=edge.transformation._replace(masked=declared))
