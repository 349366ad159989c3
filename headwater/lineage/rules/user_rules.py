"""The rules that users declare: names, tags, masking, constants, consumers, writes, system tables and links."""

from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import NamedTuple

from headwater.lineage.edges.schema_columns import parent_keys
from headwater.lineage.names.canonical_names import NameRules, default_rules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.selectors import RuleIndex, SelectedColumn, Selector, is_match
from headwater.lineage.rules.shown_rules import LinkRule, SystemRule, is_system
from headwater.lineage.runs.jobs import run_id_of


class TagRule(NamedTuple):
    """A tag on datasets, or on columns if the selector has a column."""

    selector: Selector
    key: str
    value: str


class MaskingRule(NamedTuple):
    """A declaration that edges mask or do not mask. A condition that is left out fits every edge."""

    is_masked: bool
    job: str | None
    output: Selector
    input: Selector
    description: str | None

    def is_match(self, job: str, output: SelectedColumn, source: SelectedColumn, description: str) -> bool:
        """Tell whether the rule fits an edge whose datasets already fit."""
        return (
            self.output.is_column_match(output.column)
            and self.input.is_column_match(source.column)
            and is_match(self.job, job)
            and is_match(self.description, description)
        )


class Consumer(NamedTuple):
    """A declared reader of a dataset; without `columns`, it reads all columns."""

    consumer: str
    measure: str | None
    selector: Selector
    columns: tuple[str, ...]

    def is_reader_of(self, column: str) -> bool:
        """Tell whether the consumer reads a column."""
        return not self.columns or any(is_match(glob.casefold(), column.casefold()) for glob in self.columns)


class WriteRule(NamedTuple):
    """A rule of `rewrites.yaml`: how writes change rows, and how long a dataset keeps its rows.

    writes: `whole`, `part` or `append`; None if the rule only declares `keeps`.
    retention_us: how long the dataset keeps its rows, in microseconds.
    run: the id of a single run to which the rule applies.
    """

    producer: str | None
    job: str | None
    selector: Selector
    writes: str | None
    retention_us: int | None
    run: str | None = None

    def is_match(self, producer: str, job: str, run_key: str) -> bool:
        """Tell whether the rule applies to a write to a dataset that already fits."""
        if self.run is not None and self.run.casefold() != run_id_of(run_key).casefold():
            return False
        return is_match(self.producer, producer) and is_match(self.job, job)


def is_never_hidden(_: Name) -> bool:
    """Return False for every dataset: the default filter, which hides no dataset."""
    return False


@dataclass(frozen=True)
class UserRules:
    """All rules that users declare. Methods expect canonical names; exact names in rules may be written in any form.

    window_us: the length of the window (rule 6.8) in microseconds, unless a question gives one; None for 92 days.
    tags_file: the file that messages recommend for declaring tags; it is not part of the rules.
    """

    names: NameRules = field(default_factory=default_rules)
    tags: tuple[TagRule, ...] = ()
    masking: tuple[MaskingRule, ...] = ()
    consumers: tuple[Consumer, ...] = ()
    constants: tuple[Selector, ...] = ()
    rewrites: tuple[WriteRule, ...] = ()
    system: tuple[SystemRule, ...] = ()
    links: tuple[LinkRule, ...] = ()
    window_us: int | None = None
    tags_file: str = field(default="tags.yaml in the folder of your rules", compare=False)

    @cached_property
    def rules_hash(self) -> str:
        """The version of the rules in index, silver and gold. It changes with every rule and with the rules' code."""
        parts: tuple[object, ...] = (
            self.names.rules_hash,
            self.tags,
            self.masking,
            self.consumers,
            self.constants,
            self.rewrites,
        )
        parts += (sorted(self.names.jobs.retired.items()),) if self.names.jobs.retired else ()
        parts += () if self.window_us is None else (self.window_us,)
        return sha256(repr(parts).encode("utf-8", "backslashreplace")).hexdigest()[:32]

    def tags_of(self, namespace: str, name: str, column: str | None) -> frozenset[tuple[str, str]]:
        """Return (key, value) of the tags on a column, or on the dataset itself if column is None."""
        rules = self._tags.rules_for(namespace, name)
        if column is None:
            return frozenset((rule.key, rule.value) for rule in rules if rule.selector.column is None)
        fitting = (rule for rule in rules if rule.selector.column is not None and rule.selector.is_column_match(column))
        return frozenset((rule.key, rule.value) for rule in fitting)

    def declared_masking(
        self, job: str, output: SelectedColumn, source: SelectedColumn, description: str = ""
    ) -> bool | None:
        """Return whether an edge is declared to mask; None if no rule fits. The first rule that fits counts.

        job: the name of the job; description: that of the transformation, if the producer gives one.
        """
        if not self.masking:
            return None
        rules = self._masking_by_output.rules_for(output.namespace, output.name)
        from_here = self._masking_by_input.rules_for(source.namespace, source.name) if rules else ()
        both = (rule for rule in rules if rule in from_here and rule.is_match(job, output, source, description))
        return next((rule.is_masked for rule in both), None)

    def is_constant(self, dataset: Name, column: str) -> bool:
        """Tell whether `constants.yaml` declares that a column, or a struct around it, is made of no column."""
        rules = self._constants.rules_for(*dataset.parts)
        names = (column, *parent_keys(column, frozenset())) if rules else ()
        return any(rule.is_column_match(name) for rule in rules for name in names)

    def declared_write(self, producer: str, job: str, run_key: str, output: Name) -> str | None:
        """Return how a write changes rows (`whole`, `part`, `append`) by the first rule that fits; None without one."""
        rules = self._rewrites.rules_for(*output.parts) if self.rewrites else ()
        return next((rule.writes for rule in rules if rule.writes and rule.is_match(producer, job, run_key)), None)

    def has_write_rules(self, output: Name) -> bool:
        """Tell whether a rule about writes may apply to a dataset."""
        return bool(self.rewrites) and any(rule.writes for rule in self._rewrites.rules_for(*output.parts))

    def retention_us(self, dataset: Name) -> int | None:
        """Return how long a dataset keeps its rows (microseconds) by the first rule with `keeps`; None without one."""
        rules = self._rewrites.rules_for(*dataset.parts) if self.rewrites else ()
        return next((rule.retention_us for rule in rules if rule.retention_us is not None), None)

    def consumers_of(self, namespace: str, name: str) -> tuple[Consumer, ...]:
        """Return the declared readers of a dataset."""
        return self._consumers.rules_for(namespace, name)

    def is_system(self, dataset: Name) -> bool:
        """Tell whether a dataset is a system table. Maps and lists leave it out; verdicts do not."""
        found = self._system_names.get(dataset)
        if found is None:
            found = self._system_names[dataset] = is_system(self.system, *dataset.parts)
        return found

    @cached_property
    def _system_names(self) -> dict[Name, bool]:
        return {}

    @cached_property
    def _tags(self) -> RuleIndex[TagRule]:
        return RuleIndex(((rule.selector, rule) for rule in self.tags), self.names.canonical)

    @cached_property
    def _masking_by_output(self) -> RuleIndex[MaskingRule]:
        return RuleIndex(((rule.output, rule) for rule in self.masking), self.names.canonical)

    @cached_property
    def _masking_by_input(self) -> RuleIndex[MaskingRule]:
        return RuleIndex(((rule.input, rule) for rule in self.masking), self.names.canonical)

    @cached_property
    def _constants(self) -> RuleIndex[Selector]:
        return RuleIndex(((selector, selector) for selector in self.constants), self.names.canonical)

    @cached_property
    def _rewrites(self) -> RuleIndex[WriteRule]:
        return RuleIndex(((rule.selector, rule) for rule in self.rewrites), self.names.canonical)

    @cached_property
    def _consumers(self) -> RuleIndex[Consumer]:
        return RuleIndex(((one.selector, one) for one in self.consumers), self.names.canonical)


NO_RULES = UserRules()
