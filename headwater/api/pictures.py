"""The table graph, what lies around a dataset, and its timeline, as HTTP asks for them."""

from collections.abc import Mapping, Sequence
from typing import Any

from headwater.api.lineage import read_lens, subject
from headwater.api.query import number
from headwater.api.questions import moment_us
from headwater.errors import WrongQuestion
from headwater.index.lens import Lenses
from headwater.questions.asking import MAX_DEPTH, read_bounds, read_mode
from headwater.questions.surroundings import MAX_AROUND, Reach, surroundings
from headwater.questions.table_graph import table_graph
from headwater.questions.timeline import timeline

_NODES = 200
_EXPANDED = 200
_AROUND = 500


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


def around(lenses: Lenses, parameters: Mapping[str, str]) -> dict[str, Any]:
    """Answer what lies around a dataset or a column."""
    asked, mode, reach = subject(parameters), read_mode(parameters.get("mode")), _read_reach(parameters)
    with lenses.look(read_lens(parameters)) as sight:
        return surroundings(sight.moment, sight.rules.names, asked, sight.view, mode=mode, reach=reach)


def _read_reach(parameters: Mapping[str, str]) -> Reach:
    found = Reach(1, 1, _AROUND)._replace(
        **{name: value for name in Reach._fields if (value := number(parameters, name)) is not None}
    )
    for name, far in (("up", found.up), ("down", found.down)):
        if far > MAX_DEPTH:
            raise WrongQuestion(f"{name}={far} is not between 0 and {MAX_DEPTH}.")
    if not 1 <= found.limit <= MAX_AROUND:
        raise WrongQuestion(f"limit={found.limit} is not between 1 and {MAX_AROUND}.")
    return found


def changes_of(lenses: Lenses, parameters: Mapping[str, str]) -> dict[str, Any]:
    """Answer when the lineage of a dataset changed."""
    asked = subject(parameters)
    since_us = moment_us("since", parameters["since"]) if parameters.get("since") else None
    limit = read_bounds(None, number(parameters, "limit")).limit
    return lenses.now(lambda live, rules: timeline(live, rules.names, asked, since_us=since_us, limit=limit))
