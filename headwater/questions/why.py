"""Why an edge is there: which jobs and runs say so, since when, and with what SQL."""

from headwater.errors import NotKnown
from headwater.events.times import iso
from headwater.lineage.edges import Contribution, Edge
from headwater.lineage.name import Name
from headwater.lineage.names import NameRules
from headwater.lineage.snapshot import Snapshot
from headwater.lineage.view import View
from headwater.questions.answers.lineage import EdgeAnswer, EdgeReason
from headwater.questions.answers.parts import Job
from headwater.questions.asking import Subject, find_column, find_dataset
from headwater.questions.showing import shown_column, shown_how


def why(moment: Snapshot, rules: NameRules, start: Subject, end: Subject, view: View) -> EdgeAnswer:
    """Answer which jobs make the edge between two columns, or without columns between two datasets."""
    source, output = find_dataset(moment, rules, start), find_dataset(moment, rules, end)
    column = None if start.column is None else find_column(moment, source, start.column)
    target = None if end.column is None else find_column(moment, output, end.column)
    number = view.lifetimes.newest(output)
    fed_by = sorted(moment.graph.fed_by.get(number, ())) if number is not None else []
    items = []
    for each in fed_by:
        group, said = moment.graph.sets[each]
        edges = [edge for edge in said.edges if _is_asked(edge, said, source, column, target)]
        if view.live[each] and (
            edges or (column is None and target is None and source in (each.plain for each in said.tables))
        ):
            items.append(_item(moment, each, group.layer, group.job, edges))
    if not items:
        raise NotKnown("edge", f"{_text(source, column)} -> {_text(output, target)}", [])
    return EdgeAnswer(shown_column(moment, source, column), shown_column(moment, output, target), items)


def _is_asked(edge: Edge, said: Contribution, source: Name, column: str | None, target: str | None) -> bool:
    if edge.source.plain != source or (column is not None and edge.column != column):
        return False
    return target is None or edge.target == target or (edge.target is None and target in said.columns)


def _item(moment: Snapshot, number: int, layer: str, job: Name, edges: list[Edge]) -> EdgeReason:
    stats = moment.stats(number)
    return EdgeReason(
        Job(*moment.job(job).parts),
        layer,
        [shown_how(how) for how in dict.fromkeys(edge.how for edge in edges)],
        stats.runs,
        iso(stats.first_us),
        iso(stats.last_us),
        stats.landed,
        moment.newest_run(number),
    )


def _text(dataset: Name, key: str | None) -> str:
    return "/".join(dataset.parts) + ("" if key is None else f"#{key}")
