"""Which dataset a name means: the steps of its form, then of its binding in time; and the rules in force."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from headwater.index.reading.view_opener import RulesInForce
from headwater.lineage.names.canonical_names import NameRules
from headwater.lineage.names.dataset_name import Name, Step
from headwater.lineage.runs.job_identity import job_key
from headwater.questions.answers.answer_parts import Job
from headwater.questions.answers.column_answers import Names, NameStep, Rules

Bind = Callable[[Name, int | None], Iterable[Step]]
"""From a canonical name and a time (microseconds, None: now) to the steps of its binding; none where it has none."""


def unbound(_name: Name, _at_us: int | None) -> Iterable[Step]:
    """Know no binding: what holds where nothing was observed."""
    return ()


class NamingEvent(NamedTuple):
    """What is known of the event that names a dataset; None: nothing."""

    producer: str | None = None
    job_namespace: str | None = None


UNKNOWN_EVENT = NamingEvent()


def explain_name(
    rules: NameRules, namespace: str, name: str, *, at_us: int | None = None, bind: Bind = unbound,
    event: NamingEvent = UNKNOWN_EVENT,
) -> Names:  # fmt: skip
    """Return what a name becomes: the name as sent first, then what each rule made of it, and why."""
    sent = Name(namespace, name)
    steps = [Step("as-sent", "", sent, sent), *rules.explain(namespace, name, *event)]
    steps += bind(steps[-1].after, at_us)
    items = [NameStep(step.rule, *step.after.parts, step.why) for step in steps]
    return Names(Job(*steps[-1].after.parts), rules.rules_hash, items)


def explain_job(rules: NameRules, namespace: str, name: str) -> Names:
    """Return what the name of a job becomes: the name as sent first, then what each rule made of it, and why."""
    sent = Name(namespace, name)
    steps = [Step("as-sent", "", sent, sent), *rules.jobs.explain(sent)]
    if (key := job_key(steps[-1].after, None)) != steps[-1].after:
        steps.append(Step("session", "a session of a notebook puts its id behind the name", steps[-1].after, key))
    items = [NameStep(step.rule, *step.after.parts, step.why) for step in steps]
    return Names(Job(*steps[-1].after.parts), rules.rules_hash, items)


def rules_in_force(found: RulesInForce) -> Rules:
    """Return which rules are in force, and what is wrong with the files of the user's rules.

    indexed: lineage is derived by these rules for names already; false while the index is built again.
    """
    rules = found.rules
    declared = len(rules.tags), len(rules.masking), len(rules.consumers)
    return Rules(rules.rules_hash, rules.names.rules_hash, found.indexed, *declared, found.problems)
