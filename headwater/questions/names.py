"""The questions `names` and `rules`: how a name becomes canonical and which dataset it means, and the active rules."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from headwater.index.reading.view_opener import ActiveRules
from headwater.lineage.names.canonical_names import NameRules
from headwater.lineage.names.dataset_name import Name, Step
from headwater.lineage.runs.jobs import job_key
from headwater.questions.answer_types.columns import Names, NameStep, Rules
from headwater.questions.answer_types.common import Job

Bind = Callable[[Name, int | None], Iterable[Step]]
"""A function that returns the steps from a canonical name to the dataset that it means at a time.

The time is in us; None means now. There are no steps if the name has no binding.
"""


def no_bindings(_name: Name, _at_us: int | None) -> Iterable[Step]:
    """Return no binding; for rules without observed events."""
    return ()


class NamingEvent(NamedTuple):
    """The parts of an event that rules for dataset names depend on. A part is None if it is unknown."""

    producer: str | None = None
    job_namespace: str | None = None


UNKNOWN_EVENT = NamingEvent()


def explain_name(
    rules: NameRules, namespace: str, name: str, *, at_us: int | None = None, bind: Bind = no_bindings,
    event: NamingEvent = UNKNOWN_EVENT,
) -> Names:  # fmt: skip
    """Return the name as sent, and each rule that changed it, with the reason."""
    sent = Name(namespace, name)
    steps = [Step("as-sent", "", sent, sent), *rules.explain(namespace, name, *event)]
    steps += bind(steps[-1].after, at_us)
    items = [NameStep(step.rule, *step.after.parts, step.why) for step in steps]
    return Names(Job(*steps[-1].after.parts), rules.rules_hash, items)


def explain_job(rules: NameRules, namespace: str, name: str) -> Names:
    """Return the job name as sent, and each rule that changed it, with the reason."""
    sent = Name(namespace, name)
    steps = [Step("as-sent", "", sent, sent), *rules.jobs.explain(sent)]
    if (key := job_key(steps[-1].after, None)) != steps[-1].after:
        steps.append(Step("session", "a notebook session appends its id to the name", steps[-1].after, key))
    items = [NameStep(step.rule, *step.after.parts, step.why) for step in steps]
    return Names(Job(*steps[-1].after.parts), rules.rules_hash, items)


def active_rules_answer(found: ActiveRules) -> Rules:
    """Return the active rules and the errors in the user's files.

    indexed: lineage already uses these rules for names; false while the index is rebuilt.
    """
    rules = found.rules
    declared = len(rules.tags), len(rules.masking), len(rules.consumers)
    return Rules(rules.rules_hash, rules.names.rules_hash, found.is_indexed, *declared, found.problems)
