"""The question that data contracts are made of: what is observed of a dataset."""

import time

from headwater.lineage.time.as_of import AsOf
from headwater.questions import parameters as p
from headwater.questions.answers.contract_answers import ContractFacts
from headwater.questions.contract_facts import ContractReader
from headwater.questions.declared.question_sources import QuestionSources
from headwater.questions.declaring import question
from headwater.questions.resolved_moments import resolved_after
from headwater.questions.subjects import Subject


@question("contract", reads_lake=True)
def contract(
    sources: QuestionSources, *, namespace: p.Namespace = None, dataset: p.Dataset, against: p.Against = None
) -> ContractFacts:  # fmt: skip
    """Tell what a contract of a dataset is made of: columns, lineage, tags, owners, jobs, rhythm, and by which runs."""
    at_us = sources.open_views.now(lambda live, _: resolved_after(live, against))
    return facts_of(sources, [Subject(namespace, dataset)], at_us)[0]


def facts_of(sources: QuestionSources, asked: list[Subject], at_us: int | None) -> list[ContractFacts]:
    """Return what is observed of datasets at a moment (us), None: now; raises NotKnown, WrongQuestion."""
    with sources.open_views.catalog(AsOf(at_us)) as (here, live):
        reader = ContractReader(here, live, at_us, time.time_ns() // 1000)
        found = [reader.facts(each) for each in asked]
        names = here.rules.names
    reader.counted(sources.bronze, names, found)
    return found
