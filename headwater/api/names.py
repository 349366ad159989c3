"""Which dataset a name means: the steps of its form, then of its binding in time."""

from collections.abc import Callable, Iterable
from typing import Any

from headwater.api.questions import moment_us
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
        "canonical": steps[-1].after._asdict(),
        "rules_hash": rules.rules_hash,
        "items": [{"rule": step.rule, **step.after._asdict(), "why": step.why} for step in steps],
    }
