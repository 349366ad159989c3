"""Rule 2.1: the canonical form of names. This form depends on the name, the rules and the metadata table.

Some rules also depend on the producer of the event or on the namespace of its job.
"""

from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from functools import cache, cached_property
from hashlib import sha256
from importlib.resources import files

from headwater.lineage.names.dataset_name import MAX_LENGTH, Name, Step
from headwater.lineage.names.job_names import JobRules
from headwater.lineage.names.metadata_table import Links, MetadataRow, OneLake, check_row, link_source, rows_of_kind
from headwater.lineage.names.operations import OPERATIONS
from headwater.lineage.names.patterns import Pattern, first_match
from headwater.lineage.names.rule_parser import STAGES, NameFile, NameRule, read_name_rules
from headwater.lineage.rules.rule_code import rule_code_hash
from headwater.lineage.runs.bounded_cache import BoundedCache

_UNKNOWN_EVENT = "this rule depends on the event: pass --producer and --job-namespace to see its result"


class EventRules:
    """Applies rules with conditions on the event to canonical names.

    The first rule that fits the name and the event, and either changes or explicitly keeps the name, applies.
    """

    def __init__(self, rules: Iterable[NameRule], canonical: Callable[[str, str], Name]) -> None:
        """Store the rules.

        rules: the rules in the order in which they are tried.
        canonical: a function that maps (namespace, name) to the canonical name, without applying these rules.
        """
        self.rules = tuple(rules)
        self._canonical = canonical
        self._cache: BoundedCache[tuple[Name, str, str], Name] = BoundedCache()

    def may_apply(self, name: Name) -> bool:
        """Return whether at least one rule fits a canonical name if conditions on the event are ignored."""
        return any(_rule_fits(rule, name) for rule in self.rules)

    def event_form(self, name: Name, producer: str, job_namespace: str) -> Name:
        """Return the name that replaces a canonical name in an event, or the same name if no rule applies.

        job_namespace: the namespace of the event's job.
        """
        key = (name, producer, job_namespace)
        found = self._cache.get(key)
        return found if found is not None else self._cache.put(key, self._apply(name, producer, job_namespace)[1], 0)

    def explain(self, name: Name, producer: str | None, job_namespace: str | None) -> list[Step]:
        """Return the one step that replaces a canonical name in an event, or an empty list if the name stays the same.

        If producer and job_namespace are both None, the event is unknown. In this case, the result has one step for
        each rule that may apply, and these steps do not change the name.
        """
        if producer is None and job_namespace is None:
            return [
                Step(rule.id, f"{rule.why}; {_UNKNOWN_EVENT}", name, name)
                for rule in self.rules
                if _rule_fits(rule, name)
            ]
        rule, after = self._apply(name, producer or "", job_namespace or "")
        return [Step(rule.id, rule.why, name, after)] if rule and after != name else []

    def _apply(self, name: Name, producer: str, job_namespace: str) -> tuple[NameRule | None, Name]:
        for rule in self.rules:
            values = rule.match_namespace(name.namespace)
            of_event = None if values is None else rule.match_event(producer, job_namespace)
            if values is None or of_event is None:
                continue
            after = rule.apply(name, {**values, **of_event}, OPERATIONS)
            if after is not None and (rule.keep or after != name):
                return rule, name if rule.keep else self._canonical(*after.parts)
        return None, name


def _rule_fits(rule: NameRule, name: Name) -> bool:
    return rule.match_namespace(name.namespace) is not None and (
        rule.name is None or rule.name.match(name.name) is not None
    )


_MAX_ROUNDS = 8
_STILL_CHANGES = f"the rules still change the name after {_MAX_ROUNDS} rounds, so it stays as sent"
_MAX_CACHED_LENGTH = 1000
_FITTING_RULES_WEIGHT = 20
_TOO_LONG = f"names of more than {MAX_LENGTH} characters are shortened in the middle"


_CandidateRules = tuple[tuple[tuple[NameRule, tuple[Pattern, ...]], ...], ...]
"""For each stage, the rules that may fit namespaces of one scheme, each with its patterns for this scheme."""

_FittingRule = tuple[NameRule, str, dict[str, str]]
"""A rule that fits a namespace, a text that each fitting name contains, and the values of the namespace placeholders.

The text is empty if the rule has no pattern for the name.
"""

_FittingRules = list[tuple[_FittingRule, ...] | None]
"""For each stage, the rules that fit a namespace. None for a stage that no name of the namespace has reached yet."""


class NameRules:
    """The rules for names in force: the user's rules, then the shipped ones, and the metadata table.

    In each stage, the first rule that fits and changes the name applies. The stages repeat until the name stays the
    same. User rules may lengthen a name in each round or form a cycle. If a name still changes after eight rounds, it
    stays as sent. Therefore, a canonical name stays the same if the rules are applied to it again.
    """

    def __init__(
        self,
        texts: Iterable[tuple[str, str]] = (),
        metadata_rows: Iterable[MetadataRow] = (),
        job_texts: Iterable[tuple[str, str]] = (),
    ) -> None:
        """Read the rules; raises WrongSetting, which names file, line and rule.

        texts: (file, YAML) pairs with the user's rules for dataset names.
        metadata_rows: the rows of the metadata table.
        job_texts: (file, YAML) pairs with the user's rules for job names.
        """
        self._sources = (tuple(texts), tuple(metadata_rows), tuple(job_texts))
        rows = self._sources[1]
        own = [read_name_rules(text, file) for file, text in self._sources[0]]
        rules = [rule for file in (*own, _shipped_rules()) for rule in file.rules]
        of_name = [rule for rule in rules if not rule.has_event_conditions]
        self._stages = tuple(tuple(rule for rule in of_name if rule.stage == stage) for stage in STAGES)
        self._by_scheme: dict[str, _CandidateRules] = {}
        self._by_namespace: BoundedCache[str, _FittingRules] = BoundedCache()
        self._cache: BoundedCache[tuple[str, str], Name] = BoundedCache()
        self._operations = dict(OPERATIONS)
        self.of_events = EventRules((rule for rule in rules if rule.has_event_conditions), self.canonical)
        self._load_metadata(rows)
        self.aliases = _canonical_by_alias(own, rows, self.canonical)
        self.jobs = JobRules(self._sources[2], self.canonical)
        self._complete_list_producers = tuple(producer for file in own for producer in file.complete_lists)
        self._hash_inputs: tuple[object, ...] = (
            rules, [row.contents() for row in rows], sorted(self.aliases.items()), self.jobs.rules,
            self._complete_list_producers,
            *([sorted(self.jobs.renamed.items())] if self.jobs.renamed else []),
        )  # fmt: skip

    @cached_property
    def rules_hash(self) -> str:
        """The version of the rules: a hash of rules, metadata table and the code that derives rows from events."""
        return _hash_parts(rule_code_hash(), *self._hash_inputs)

    def canonical(self, namespace: str, name: str) -> Name:
        """Return the canonical name for a namespace and name as sent. Accepts every text and never raises."""
        found = self._cache.get((namespace, name))
        return found if found is not None else self._derive_and_cache(namespace, name)

    def canonical_in_event(self, producer: str, job_namespace: str) -> Callable[[str, str], Name]:
        """Return a function that maps (namespace, name) as sent in one event to the canonical name.

        The function also applies the rules that have conditions on the event (rule 2.1).
        job_namespace: the namespace in the canonical name of the event's job; empty for a DatasetEvent.
        """
        if not self.of_events.rules:
            return self.canonical
        return lambda namespace, name: self.of_events.event_form(
            self.canonical(namespace, name), producer, job_namespace
        )

    def canonical_job(self, job: Name, outputs: Iterable[Name] = ()) -> Name:
        """Return the canonical name of a job; outputs: the outputs, as sent, of the event that names the job."""
        return self.jobs.canonical(job, outputs)

    def has_complete_lists(self, producer: str) -> bool:
        """Return whether a rule declares that a producer's lists of columns are complete (rule 12.6)."""
        return any(fnmatchcase(producer, glob) for glob in self._complete_list_producers)

    def explain(
        self, namespace: str, name: str, producer: str | None = None, job_namespace: str | None = None
    ) -> list[Step]:
        """Return the steps from a name as sent to its canonical form, in order; empty if the name is canonical.

        producer, job_namespace: the producer and the job's namespace of the event that uses the name, or None if they
        are unknown. Some rules depend on them.
        """
        found, steps = self._apply_rules(Name(namespace, name))
        return [*steps, *self.of_events.explain(found, producer, job_namespace)]

    def __reduce__(self) -> tuple[type["NameRules"], tuple[object, ...]]:
        """Pickle the sources of the rules, without caches, for Spark's workers."""
        return NameRules, self._sources

    def _derive_and_cache(self, namespace: str, name: str) -> Name:
        found = self._apply_rules(Name(namespace, name))[0]
        if len(namespace) + len(name) <= _MAX_CACHED_LENGTH:
            self._cache.put((namespace, name), found, 0)
        return found

    def _apply_rules(self, sent: Name) -> tuple[Name, list[Step]]:
        name = sent.shortened
        steps = [Step("too-long", _TOO_LONG, sent, name)] if name is not sent else []
        sent = name
        last = len(STAGES) - 1
        for _ in range(_MAX_ROUNDS):
            before, until = name, last
            namespace, fitting = name.namespace, self._fitting_rules(name.namespace)
            for stage in range(len(STAGES)):
                if stage > until and name is before:
                    return name, steps  # the last round applied the later stages to this name
                if name.namespace != namespace:
                    namespace, fitting = name.namespace, self._fitting_rules(name.namespace)
                rules = fitting[stage]
                if rules is None:
                    rules = fitting[stage] = _fitting_rules(self._candidate_rules(namespace)[stage], namespace)
                for rule, needs, values in rules:
                    if needs not in name.name:
                        continue
                    after = rule.apply(name, values, self._operations)
                    if after is not None and (rule.keep or after != name):
                        if after != name:
                            steps.append(Step(rule.id, rule.why, name, after))
                            name, last = after, stage
                        break
            if name == before:
                return name, steps
        return sent, [*steps, Step("unsettled", _STILL_CHANGES, name, sent)]

    def _fitting_rules(self, namespace: str) -> _FittingRules:
        """Return, for each stage, the rules that fit a namespace, or None if they are not determined yet.

        The list is cached, because most names share a namespace with other names. The caller fills the stages.
        """
        found = self._by_namespace.get(namespace)
        if found is None:
            found = [None if rules else () for rules in self._candidate_rules(namespace)]
            if len(namespace) <= _MAX_CACHED_LENGTH:
                self._by_namespace.put(namespace, found, _FITTING_RULES_WEIGHT)
        return found

    def _candidate_rules(self, namespace: str) -> _CandidateRules:
        """Return, for each stage, the rules that may fit a namespace, which depends on its scheme.

        The cache of the results is bounded, because events contain any number of schemes.
        """
        scheme = namespace.partition(":")[0]
        found = self._by_scheme.get(scheme)
        if found is None:
            idle = {do for do, operation in self._operations.items() if operation is _keep_name}
            found = tuple(
                tuple(
                    (rule, patterns)
                    for rule in rules
                    if rule.do not in idle and (patterns := rule.patterns_for_scheme(scheme)) is not None
                )
                for rules in self._stages
            )
            if len(self._by_scheme) < 256 and len(scheme) < 100:
                self._by_scheme[scheme] = found
        return found

    def _load_metadata(self, rows: Sequence[MetadataRow]) -> None:
        for row in rows:
            check_row(row)
        lake = OneLake(rows)
        self.onelake_names = lake.display_names
        self._operations |= {"onelake": lake.with_ids, "warehouse": lake.table_folder, "link": _keep_name}
        links = Links(rows, self.canonical)
        if links:
            self._operations["link"] = links.resolve
        self._cache.clear()  # the cached names were derived without the links
        self._by_scheme.clear()
        self._by_namespace.clear()
        for row in rows:
            if row.kind in ("shortcut", "mount"):
                self._check_link_cycle(row)

    def _check_link_cycle(self, row: MetadataRow) -> None:
        if any(step.rule == "unsettled" for step in self.explain(*link_source(row).parts)):
            raise row.error(f"the {row.kind} leads back to itself", "use a target outside of its source")


@cache
def default_rules() -> NameRules:
    """Return the shipped rules, without rules of a user."""
    return NameRules()


@cache
def _shipped_rules() -> NameFile:
    return read_name_rules(
        files("headwater.lineage.names").joinpath("names.yaml").read_text("utf-8"), "shipped names.yaml"
    )


def _fitting_rules(rules: Iterable[tuple[NameRule, tuple[Pattern, ...]]], namespace: str) -> tuple[_FittingRule, ...]:
    fitting = []
    for rule, patterns in rules:
        found = first_match(patterns, namespace) if patterns else None
        if found is not None or not patterns:
            fitting.append((rule, rule.name.required_text if rule.name else "", found.groupdict() if found else {}))
    return tuple(fitting)


def _keep_name(name: Name) -> Name:
    return name


def _canonical_by_alias(
    own: Iterable[NameFile], rows: Sequence[MetadataRow], canonical: Callable[[str, str], Name]
) -> dict[str, Name]:
    """Map each casefolded business name to the canonical name of its dataset.

    own: the user's files. If a business name occurs several times, the first entry counts, and files precede rows.
    """
    given = [alias for file in own for alias in file.aliases]
    given += [(row.name, Name(row.parent, row.target)) for row in rows_of_kind(rows, "alias")]
    return {alias.casefold(): canonical(*name.parts) for alias, name in reversed(given)}


def _hash_parts(*parts: object) -> str:
    return sha256(repr(parts).encode("utf-8", "backslashreplace")).hexdigest()[:32]
