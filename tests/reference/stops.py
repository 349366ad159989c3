"""Datasets at which impact and upstream stop because lineage has no columns there (docs/reference/lineage.md:
questions).
"""

from tests.reference.gaps import WHOLE, is_near
from tests.reference.generations import Dataset
from tests.reference.names import Name
from tests.reference.nesting import Node
from tests.reference.possible_links import possible_links
from tests.reference.questions import asked_columns, impact_steps, upstream_steps
from tests.reference.solver import Reference
from tests.reference.walks import reached, reached_backwards
from tests.reference.writings import Writing


def of_impact(lineage: Reference, namespace: str, name: str, column: str, mode: str) -> set[Name]:
    """Return those of the asked and reached datasets from which something is opaquely written.

    And those that a run reads that may be connected with a run that writes (7.6).
    """
    lineage = lineage.of_use()
    asked, nesting = asked_columns(lineage, namespace, name, column)
    starts, steps = impact_steps(lineage, nesting, asked, mode)
    datasets = {node[:3] for node in reached(steps, starts)} | begun(lineage, asked, forward=True)
    linked = {each.read for each in possible_links(lineage) if _goes_on(lineage, each.written)}
    return {
        dataset[:2]
        for dataset in datasets
        if _is_stop_of_impact(lineage, dataset) or not linked.isdisjoint({dataset, *_others(lineage, dataset)})
    }


def of_upstream(lineage: Reference, namespace: str, name: str, column: str, mode: str) -> set[Name]:
    """Return the datasets for which a writer does not report the sources."""
    lineage = lineage.of_rows()
    asked, nesting = asked_columns(lineage, namespace, name, column)
    starts, steps = upstream_steps(lineage, nesting, asked, mode)
    nodes = {*reached_backwards(steps, starts), *starts, *asked}
    datasets = {node[:3] for node in nodes} | begun(lineage, asked, forward=False)
    writings = [each for each in lineage.current if each.output in datasets]
    attempts = [each for dataset in datasets for each in lineage.attempts.writing(dataset)]
    left_open = [
        each.writing
        for each in attempts
        if each.writing and (each.written_from or each.is_of_anything or not each.writing.reads)
    ]
    unsaid = [
        each
        for each in writings
        if _is_unsaid(lineage, each)
        or _leaves_open(lineage, each, {node[3] or "" for node in nodes if node[:3] == each.output})
    ]
    return {each.output[:2] for each in [*unsaid, *left_open]}


def begun(lineage: Reference, asked: set[Node], *, forward: bool) -> set[Dataset]:
    """Return the datasets where a question starts: those of the asked columns, and those to which their names moved."""
    found = {node[:3] for node in asked}
    return found | {each for one in found for each in lineage.moved_on(one, forward=forward)}


def _is_stop_of_impact(lineage: Reference, dataset: Dataset) -> bool:
    others = _others(lineage, dataset)
    here = [(writing, {dataset}) for writing in lineage.current]
    there = [(writing, others) for writing in [*lineage.current_readers, *lineage.declared]]
    meant = {dataset} | others
    attempts = [each for each in lineage.attempts.counting if each.written_from & meant]
    if any(each.writing and _goes_on(lineage, each.writing.output) for each in attempts):
        return True
    fed = [lineage.fed_by(each) for each in lineage.without_output if each.feeds_jobs]
    fed += [each.used for each in lineage.attempts.counting if each.is_feeding]
    if any(datasets & meant for datasets in fed):
        return True
    return any(
        _hides(lineage, writing) & datasets and _goes_on(lineage, writing.output) for writing, datasets in here + there
    )


def _others(lineage: Reference, dataset: Dataset) -> set[Dataset]:
    """Return the other generations of the name of a dataset that is not dropped."""
    if lineage.generations.is_dropped(dataset):
        return set()
    return lineage.generations.of_name(dataset[:2]) - {dataset}


def _hides(lineage: Reference, writing: Writing) -> set[Dataset]:
    opacity = lineage.opacity
    account = opacity.accounts[writing.run]
    more = opacity.inputs(account, writing) if writing.carries else set()
    return opacity.sources(writing) | opacity.may_fill(account, writing) | more


def _goes_on(lineage: Reference, output: Dataset) -> bool:
    return not lineage.generations.is_dropped(output) or any(
        output in each.tables | each.opaque for each in lineage.current
    )


def _leaves_open(lineage: Reference, writing: Writing, keys: set[str]) -> bool:
    """Return whether one of the columns is not accounted for, or comes from a name that may refer to an input."""
    opacity = lineage.opacity
    account = opacity.accounts[writing.run]
    is_open = opacity.may_fill(account, writing) or (writing.carries and opacity.may_be_of_anything(writing))
    if is_open and (WHOLE in writing.left_out or any(is_near(key, writing.left_out) for key in keys)):
        return True
    doubtful = {dataset for dataset, _ in opacity.may_mean(account, writing)}
    targets = {lineage.schemas.key(writing.output, edge[2]) for edge in writing.edges if edge[0] in doubtful}
    return any(is_near(key, targets) for key in keys)


def _is_unsaid(lineage: Reference, writing: Writing) -> bool:
    account = lineage.opacity.accounts[writing.run]
    is_of_a_job = bool(account.run or account.job[0])
    if is_of_a_job and not (writing.carries or writing.tables or writing.inputs or writing.opaque):
        return True
    if not writing.carries and (lineage.opacity.through(writing) or lineage.opacity.may_be_of_anything(writing)):
        return True
    return bool(lineage.opacity.sources(writing))
