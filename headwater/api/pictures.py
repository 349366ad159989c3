"""The table graph and a dataset's timeline, as HTTP asks for them."""

from collections.abc import Mapping, Sequence
from typing import Any

from headwater.api.lineage import read_lens, subject
from headwater.api.query import number
from headwater.api.questions import moment_us
from headwater.errors import WrongQuestion
from headwater.index.asking import read_bounds
from headwater.index.lens import Lenses
from headwater.index.table_graph import table_graph
from headwater.index.timeline import timeline

_NODES = 200
_EXPANDED = 200


def graph(lenses: Lenses, parameters: Mapping[str, str], expand: Sequence[str]) -> dict[str, Any]:
    """Answer the table graph; expand: ids of groups to be opened."""
    if len(expand) > _EXPANDED:
        raise WrongQuestion(f"{len(expand)} groups are to be opened. Open {_EXPANDED} at most.")
    limit = number(parameters, "limit")
    with lenses.look(read_lens(parameters)) as sight:
        return table_graph(
            sight.moment,
            sight.view,
            level=parameters.get("groups") or "namespace",
            expand=frozenset(expand),
            limit=_NODES if limit is None else limit,
        )


def changes_of(lenses: Lenses, parameters: Mapping[str, str]) -> dict[str, Any]:
    """Answer when the lineage of a dataset changed."""
    asked = subject(parameters)
    since_us = moment_us("since", parameters["since"]) if parameters.get("since") else None
    limit = read_bounds(None, number(parameters, "limit")).limit
    return lenses.now(lambda live, rules: timeline(live, rules.names, asked, since_us=since_us, limit=limit))
