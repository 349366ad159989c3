"""Rule 2.1: rules for names that depend on the producer of the event or on the namespace of its job."""

from collections.abc import Callable, Iterable

from headwater.lineage.names.dataset_name import Name, Step
from headwater.lineage.names.name_operations import OPERATIONS
from headwater.lineage.names.name_rules_text import NameRule
from headwater.lineage.runs.bounded_cache import BoundedCache

_UNKNOWN = "this rule depends on the event: pass --producer and --job-namespace to see its result"


class EventRules:
    """Applies rules with conditions on the event to canonical names.

    The first rule that fits the name and the event, and either changes or explicitly keeps the name, applies.
    """

    def __init__(self, rules: Iterable[NameRule], canonical: Callable[[str, str], Name]) -> None:
        """rules: in order; canonical: returns the canonical form of a name without these rules."""
        self.rules = tuple(rules)
        self._canonical = canonical
        self._memo: BoundedCache[tuple[Name, str, str], Name] = BoundedCache()

    def concern(self, name: Name) -> bool:
        """Return whether a rule can fit a canonical name in some event."""
        return any(_fits(rule, name) for rule in self.rules)

    def form(self, name: Name, producer: str, job_namespace: str) -> Name:
        """Return the form of a canonical name in an event."""
        key = (name, producer, job_namespace)
        found = self._memo.get(key)
        return found if found is not None else self._memo.keep(key, self._form(name, producer, job_namespace)[1], 0)

    def explain(self, name: Name, producer: str | None, job_namespace: str | None) -> list[Step]:
        """Return the step from a canonical name to its form in an event; none if the name stays the same.

        If producer and job_namespace are both None, the event is unknown, and the result contains the rules that may
        apply.
        """
        if producer is None and job_namespace is None:
            return [Step(rule.id, f"{rule.why}; {_UNKNOWN}", name, name) for rule in self.rules if _fits(rule, name)]
        rule, after = self._form(name, producer or "", job_namespace or "")
        return [Step(rule.id, rule.why, name, after)] if rule and after != name else []

    def _form(self, name: Name, producer: str, job_namespace: str) -> tuple[NameRule | None, Name]:
        for rule in self.rules:
            values = rule.fit(name.namespace)
            of_event = None if values is None else rule.fit_event(producer, job_namespace)
            if values is None or of_event is None:
                continue
            after = rule.apply(name, {**values, **of_event}, OPERATIONS)
            if after is not None and (rule.keep or after != name):
                return rule, name if rule.keep else self._canonical(*after.parts)
        return None, name


def _fits(rule: NameRule, name: Name) -> bool:
    return rule.fit(name.namespace) is not None and (rule.name is None or rule.name.take(name.name) is not None)
