"""Steps that the user's masking file declares masked or not masked, whatever their producer says."""

from msgspec.structs import replace

from headwater.lineage.edges import Contribution, Edge
from headwater.lineage.name import Name
from headwater.lineage.selectors import Column
from headwater.lineage.user_rules import UserRules


def as_declared(said: Contribution, job: Name, rules: UserRules) -> Contribution:
    """Return what a run says with the user's word on its steps."""
    if not rules.masking or said.output is None:
        return said
    output = said.output
    return replace(said, edges=tuple(dict.fromkeys(_declared(edge, output, job, rules) for edge in said.edges)))


def _declared(edge: Edge, output: Name, job: Name, rules: UserRules) -> Edge:
    if edge.target is None:
        return edge
    into, source = Column(*output, edge.target), Column(*edge.source, edge.column)
    masked = rules.masking_of(job.name, into, source, edge.how.description or "")
    return edge if masked is None else edge._replace(how=edge.how._replace(masked=masked))
