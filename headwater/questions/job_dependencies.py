"""Control flow from the facet `jobDependencies`."""

from collections.abc import Iterator
from typing import Any

from headwater.events.rule_facets import text_at
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.job_identity import job_key
from headwater.questions.job_graph import Dependency


def dependencies_of(job: Name, facet: Any) -> Iterator[Dependency]:
    """Yield the dependencies of a job. facet: decoded, of any shape."""
    for side in ("upstream", "downstream"):
        listed = facet.get(side) if isinstance(facet, dict) else None
        for each in listed if isinstance(listed, list) else ():
            namespace, name = text_at(each, "job", "namespace"), text_at(each, "job", "name")
            if namespace is None or not name:
                continue
            other = job_key(Name(namespace, name), None)
            ends = (other, job) if side == "upstream" else (job, other)
            rule = text_at(each, "status_trigger_rule") or text_at(facet, "trigger_rule")
            yield Dependency(*ends, text_at(each, "dependency_type"), rule)
