"""The question `contract`: observed facts of a dataset for data contracts."""

import time

from headwater.lineage.snapshots.as_of import AsOf
from headwater.questions import parameters as p
from headwater.questions.answer_types.contracts import ContractFacts
from headwater.questions.contract_facts import ContractReader
from headwater.questions.declaring import question
from headwater.questions.definitions.sources import QuestionSources
from headwater.questions.resolved_moments import resolve_after
from headwater.questions.subjects import Subject


@question("contract", reads_lake=True)
def contract(
    sources: QuestionSources, *, namespace: p.Namespace = None, dataset: p.Dataset, against: p.Against = None
) -> ContractFacts:  # fmt: skip
    """Return the facts for a data contract: columns, lineage, tags, owners, jobs and rhythm, each with its run."""
    at_us = sources.open_views.query_current_index(lambda live, _: resolve_after(live, against))
    return contract_facts_of(sources, [Subject(namespace, dataset)], at_us)[0]


def contract_facts_of(sources: QuestionSources, asked: list[Subject], at_us: int | None) -> list[ContractFacts]:
    """Return the observed facts of datasets at a moment (us, None: now). Raises NotKnown or WrongQuestion."""
    with sources.open_views.open_view_and_index(AsOf(at_us)) as (view, live):
        reader = ContractReader(view, live, at_us, time.time_ns() // 1000)
        found = [reader.read_facts(each) for each in asked]
        names = view.rules.names
    reader.add_row_counts(sources.bronze, names, found)
    return found
