"""Which dataset a name means: the steps of its form, then of its binding in time; and the rules in force."""

from collections.abc import Callable, Iterable
from typing import Any

from headwater.api.questions import moment_us
from headwater.index.lens import RulesInForce
from headwater.lineage.name import Name, Step
from headwater.lineage.names import NameRules

Bind = Callable[[Name, int | None], Iterable[Step]]
"""From a canonical name and a time (microseconds, None: now) to the steps of its binding; none where it has none."""


def unbound(_name: Name, _at_us: int | None) -> Iterable[Step]:
    """Know no binding: what holds where nothing was observed."""
    return ()


def explain_name(
    rules: NameRules, namespace: str, name: str, *, at: str | None = None, bind: Bind = unbound
) -> dict[str, Any]:
    """Return what a name becomes: the name as sent first, then what each rule made of it, and why.

    at: ISO 8601, UTC without a zone. Raises WrongQuestion if it is no time.
    """
    at_us = None if at is None else moment_us("at", at)
    sent = Name(namespace, name)
    steps = [Step("as-sent", "", sent, sent), *rules.explain(namespace, name)]
    steps += bind(steps[-1].after, at_us)
    return {
        "canonical": steps[-1].after.shown,
        "rules_hash": rules.rules_hash,
        "items": [{"rule": step.rule, **step.after.shown, "why": step.why} for step in steps],
    }


def rules_json(found: RulesInForce) -> dict[str, Any]:
    """Return which rules are in force, and what is wrong with the files of the user's rules.

    indexed: lineage is derived by these rules for names already; false while the index is built again.
    """
    rules = found.rules
    return {
        "rules_hash": rules.rules_hash,
        "names_hash": rules.names.rules_hash,
        "indexed": found.indexed,
        "tags": len(rules.tags),
        "masking": len(rules.masking),
        "consumers": len(rules.consumers),
        "problems": found.problems,
    }
