"""The masking file over edge sets: what users declare of a step outweighs what its producer says."""

from msgspec.structs import replace

from headwater.lineage.current import Group
from headwater.lineage.edges import Contribution, Edge
from headwater.lineage.selectors import Column
from headwater.lineage.user_rules import UserRules


def remasked(rules: UserRules, group: Group, said: Contribution) -> Contribution:
    """Return an edge set with the steps masked that the rules declare so, and unmasked likewise."""
    if not rules.masking or said.output is None:
        return said
    edges = tuple(_remasked(rules, group, said, edge) for edge in said.edges)
    return said if edges == said.edges else replace(said, edges=edges)


def _remasked(rules: UserRules, group: Group, said: Contribution, edge: Edge) -> Edge:
    assert said.output is not None  # noqa: S101 - the caller looked
    output = Column(*said.output.parts, edge.target or "")
    source = Column(*edge.source.parts, edge.column)
    declared = rules.masking_of(group.job.name, output, source, edge.how.description or "")
    return edge if declared is None else replace(edge, how=edge.how._replace(masked=declared))
