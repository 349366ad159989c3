"""The rules that users declare: names, tags, masking, constants, consumers, writes, system tables, links and owners."""

from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import NamedTuple

from headwater.lineage.edges.schema_columns import parent_keys
from headwater.lineage.names.canonical_names import NameRules, default_rules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.owner_rules import OwnerRule
from headwater.lineage.rules.selectors import RuleIndex, SelectedColumn, Selector, is_match
from headwater.lineage.rules.shown_rules import LinkRule, SystemRule, is_system
from headwater.lineage.runs.jobs import run_id_of


class TagRule(NamedTuple):
    """A rule of `tags.yaml`: a tag on columns, or on whole datasets if the selector has no column."""

    selector: Selector
    key: str
    value: str


class MaskingRule(NamedTuple):
    """A rule of `masking.yaml`: the declaration that matching edges mask, or do not mask.

    job, description: globs for the name of the job and the description of the transformation; None matches every edge.
    output, input: select the output column and the input column of an edge.
    """

    is_masked: bool
    job: str | None
    output: Selector
    input: Selector
    description: str | None

    def is_match(self, job: str, output: SelectedColumn, source: SelectedColumn, description: str) -> bool:
        """Tell whether the rule applies to an edge. Both datasets of the edge must already match the rule."""
        return (
            self.output.is_column_match(output.column)
            and self.input.is_column_match(source.column)
            and is_match(self.job, job)
            and is_match(self.description, description)
        )


class Consumer(NamedTuple):
    """A rule of `consumers.yaml`: a reader of datasets that sends no events.

    measure: the name of the measure that uses the columns, such as `Total revenue`; None if the rule names no measure.
    columns: globs for the columns that the consumer reads. If it is empty, the consumer reads all columns.
    """

    consumer: str
    measure: str | None
    selector: Selector
    columns: tuple[str, ...]

    def is_reader_of(self, column: str) -> bool:
        """Tell whether the consumer reads a column."""
        return not self.columns or any(is_match(glob.casefold(), column.casefold()) for glob in self.columns)


class WriteRule(NamedTuple):
    """A rule of `rewrites.yaml`: how writes change rows, and how long a dataset keeps its rows.

    producer, job: globs for the producer and the name of the job; None matches every write.
    writes: `whole`, `part` or `append`; None if the rule only declares `keeps`.
    retention_us: how long the dataset keeps its rows, in microseconds; None if the rule does not declare `keeps`.
    run: the id of the only run to which the rule applies; None if the rule applies to all runs.
    """

    producer: str | None
    job: str | None
    selector: Selector
    writes: str | None
    retention_us: int | None
    run: str | None = None

    def is_match(self, producer: str, job: str, run_key: str) -> bool:
        """Tell whether the rule applies to a write. The written dataset must already match the selector."""
        if self.run is not None and self.run.casefold() != run_id_of(run_key).casefold():
            return False
        return is_match(self.producer, producer) and is_match(self.job, job)


def is_never_hidden(_: Name) -> bool:
    """Return False for every dataset. This default filter hides no dataset."""
    return False


@dataclass(frozen=True)
class UserRules:
    """All rules that users declare. Methods expect canonical names. Users may write exact names in rules in any form.

    window_us: the length of the window (rule 6.8) in microseconds; None means 92 days.
    A question may use a different length.
    tags_file: the path of the file in which messages advise users to declare tags. It is not part of the rules.
    """

    names: NameRules = field(default_factory=default_rules)
    tags: tuple[TagRule, ...] = ()
    masking: tuple[MaskingRule, ...] = ()
    consumers: tuple[Consumer, ...] = ()
    constants: tuple[Selector, ...] = ()
    rewrites: tuple[WriteRule, ...] = ()
    system: tuple[SystemRule, ...] = ()
    links: tuple[LinkRule, ...] = ()
    owners: tuple[OwnerRule, ...] = ()
    window_us: int | None = None
    tags_file: str = field(default="tags.yaml in the folder of your rules", compare=False)

    @cached_property
    def rules_hash(self) -> str:
        """The hash that index, silver and gold store as the version of the rules.

        It changes with the rules' code and with every rule, except for system tables, links and owners, which
        affect no rows.
        """
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
        """Return the (key, value) pairs of the tags on a column, or on the dataset itself if `column` is None."""
        rules = self._tags_index.rules_for(namespace, name)
        if column is None:
            return frozenset((rule.key, rule.value) for rule in rules if rule.selector.column is None)
        fitting = (rule for rule in rules if rule.selector.column is not None and rule.selector.is_column_match(column))
        return frozenset((rule.key, rule.value) for rule in fitting)

    def declared_masking(
        self, job: str, output: SelectedColumn, source: SelectedColumn, description: str = ""
    ) -> bool | None:
        """Return whether the first matching rule declares that an edge masks; None if no rule matches.

        job: the name of the job.
        description: the description of the transformation; empty if the producer gives none.
        """
        if not self.masking:
            return None
        rules = self._masking_by_output.rules_for(output.namespace, output.name)
        from_here = self._masking_by_input.rules_for(source.namespace, source.name) if rules else ()
        both = (rule for rule in rules if rule in from_here and rule.is_match(job, output, source, description))
        return next((rule.is_masked for rule in both), None)

    def is_constant(self, dataset: Name, column: str) -> bool:
        """Tell whether `constants.yaml` declares that a column, or a struct around it, is made of no column."""
        rules = self._constants_index.rules_for(*dataset.parts)
        names = (column, *parent_keys(column, frozenset())) if rules else ()
        return any(rule.is_column_match(name) for rule in rules for name in names)

    def declared_write(self, producer: str, job: str, run_key: str, output: Name) -> str | None:
        """Return `whole`, `part` or `append` from the first rule that matches a write; None if no rule matches."""
        rules = self._write_rules_index.rules_for(*output.parts) if self.rewrites else ()
        return next((rule.writes for rule in rules if rule.writes and rule.is_match(producer, job, run_key)), None)

    def has_write_rules(self, output: Name) -> bool:
        """Tell whether a rule with `writes` may apply to writes of a dataset."""
        return bool(self.rewrites) and any(rule.writes for rule in self._write_rules_index.rules_for(*output.parts))

    def retention_us(self, dataset: Name) -> int | None:
        """Return how long (us) a dataset keeps its rows by the first matching rule with `keeps`; None without one."""
        rules = self._write_rules_index.rules_for(*dataset.parts) if self.rewrites else ()
        return next((rule.retention_us for rule in rules if rule.retention_us is not None), None)

    def consumers_of(self, namespace: str, name: str) -> tuple[Consumer, ...]:
        """Return the declared readers of a dataset."""
        return self._consumers_index.rules_for(namespace, name)

    def is_system(self, dataset: Name) -> bool:
        """Tell whether a dataset is a system table. Maps and lists leave out system tables; verdicts include them."""
        found = self._is_system_by_dataset.get(dataset)
        if found is None:
            found = self._is_system_by_dataset[dataset] = is_system(self.system, *dataset.parts)
        return found

    @cached_property
    def _is_system_by_dataset(self) -> dict[Name, bool]:
        return {}

    @cached_property
    def _tags_index(self) -> RuleIndex[TagRule]:
        return RuleIndex(((rule.selector, rule) for rule in self.tags), self.names.canonical)

    @cached_property
    def _masking_by_output(self) -> RuleIndex[MaskingRule]:
        return RuleIndex(((rule.output, rule) for rule in self.masking), self.names.canonical)

    @cached_property
    def _masking_by_input(self) -> RuleIndex[MaskingRule]:
        return RuleIndex(((rule.input, rule) for rule in self.masking), self.names.canonical)

    @cached_property
    def _constants_index(self) -> RuleIndex[Selector]:
        return RuleIndex(((selector, selector) for selector in self.constants), self.names.canonical)

    @cached_property
    def _write_rules_index(self) -> RuleIndex[WriteRule]:
        return RuleIndex(((rule.selector, rule) for rule in self.rewrites), self.names.canonical)

    @cached_property
    def _consumers_index(self) -> RuleIndex[Consumer]:
        return RuleIndex(((one.selector, one) for one in self.consumers), self.names.canonical)


NO_RULES = UserRules()
