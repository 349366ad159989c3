"""The masking file over edge sets: what users declare of a step outweighs what its producer says."""

from msgspec.structs import replace

from headwater.lineage.edges.current_candidates import JobOutput
from headwater.lineage.edges.run_edges import Edge, OutputLineage
from headwater.lineage.rules.selectors import SelectedColumn
from headwater.lineage.rules.user_rules import UserRules


def remasked(rules: UserRules, job_output: JobOutput, lineage: OutputLineage) -> OutputLineage:
    """Return an edge set with the steps masked that the rules declare so, and unmasked likewise."""
    if not rules.masking or lineage.output is None:
        return lineage
    edges = tuple(_remasked(rules, job_output, lineage, edge) for edge in lineage.edges)
    return lineage if edges == lineage.edges else replace(lineage, edges=edges)


def _remasked(rules: UserRules, job_output: JobOutput, lineage: OutputLineage, edge: Edge) -> Edge:
    assert lineage.output is not None  # noqa: S101 - the caller looked
    output = SelectedColumn(*lineage.output.parts, edge.target or "")
    source = SelectedColumn(*edge.source.parts, edge.column)
    declared = rules.masking_of(job_output.job.name, output, source, edge.transformation.description or "")
    return edge if declared is None else replace(edge, transformation=edge.transformation._replace(masked=declared))
