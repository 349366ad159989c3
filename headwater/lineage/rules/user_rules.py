"""The rules that users declare: names, tags, masking, constants, consumers, writes, system tables and links."""

from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import NamedTuple

from headwater.lineage.edges.schema_columns import parents
from headwater.lineage.names.canonical_names import NameRules, default_rules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.selectors import Selected, SelectedColumn, Selector, fits
from headwater.lineage.rules.shown_rules import LinkRule, SystemRule, is_system
from headwater.lineage.runs.job_identity import run_id_of


class TagRule(NamedTuple):
    """A tag on datasets, or on columns if the selector has a column."""

    selector: Selector
    key: str
    value: str


class MaskingRule(NamedTuple):
    """A declaration that edges mask or do not mask. A condition that is left out fits every edge."""

    masked: bool
    job: str | None
    output: Selector
    input: Selector
    description: str | None

    def fits(self, job: str, output: SelectedColumn, source: SelectedColumn, description: str) -> bool:
        """Tell whether the rule fits an edge whose datasets already fit."""
        return (
            self.output.fits_column(output.column)
            and self.input.fits_column(source.column)
            and fits(self.job, job)
            and fits(self.description, description)
        )


class Consumer(NamedTuple):
    """A declared reader of a dataset; without `columns`, it reads all columns."""

    consumer: str
    measure: str | None
    selector: Selector
    columns: tuple[str, ...]

    def reads(self, column: str) -> bool:
        """Tell whether the consumer reads a column."""
        return not self.columns or any(fits(glob.casefold(), column.casefold()) for glob in self.columns)


class WriteRule(NamedTuple):
    """A rule of `rewrites.yaml`: how writes change rows, and how long a dataset keeps its rows.

    writes: `whole`, `part` or `append`; None if the rule only declares `keeps`.
    keeps_us: how long the dataset keeps its rows, in microseconds.
    run: the id of a single run to which the rule applies.
    """

    producer: str | None
    job: str | None
    selector: Selector
    writes: str | None
    keeps_us: int | None
    run: str | None = None

    def fits(self, producer: str, job: str, run_key: str) -> bool:
        """Tell whether the rule applies to a write to a dataset that already fits."""
        if self.run is not None and self.run.casefold() != run_id_of(run_key).casefold():
            return False
        return fits(self.producer, producer) and fits(self.job, job)


def nothing_hidden(_: Name) -> bool:
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
        rules = self._tags.of(namespace, name)
        if column is None:
            return frozenset((rule.key, rule.value) for rule in rules if rule.selector.column is None)
        fitting = (rule for rule in rules if rule.selector.column is not None and rule.selector.fits_column(column))
        return frozenset((rule.key, rule.value) for rule in fitting)

    def masking_of(
        self, job: str, output: SelectedColumn, source: SelectedColumn, description: str = ""
    ) -> bool | None:
        """Return whether an edge is declared to mask; None if no rule fits. The first rule that fits counts.

        job: the name of the job; description: that of the transformation, if the producer gives one.
        """
        if not self.masking:
            return None
        rules = self._masking_by_output.of(output.namespace, output.name)
        from_here = self._masking_by_input.of(source.namespace, source.name) if rules else ()
        both = (rule for rule in rules if rule in from_here and rule.fits(job, output, source, description))
        return next((rule.masked for rule in both), None)

    def is_constant(self, dataset: Name, column: str) -> bool:
        """Tell whether `constants.yaml` declares that a column, or a struct around it, is made of no column."""
        rules = self._constants.of(*dataset.parts)
        names = (column, *parents(column, frozenset())) if rules else ()
        return any(rule.fits_column(name) for rule in rules for name in names)

    def writes_of(self, producer: str, job: str, run_key: str, output: Name) -> str | None:
        """Return how a write changes rows (`whole`, `part`, `append`) by the first rule that fits; None without one."""
        rules = self._rewrites.of(*output.parts) if self.rewrites else ()
        return next((rule.writes for rule in rules if rule.writes and rule.fits(producer, job, run_key)), None)

    def declares_writes(self, output: Name) -> bool:
        """Tell whether a rule about writes may apply to a dataset."""
        return bool(self.rewrites) and any(rule.writes for rule in self._rewrites.of(*output.parts))

    def keeps_us(self, dataset: Name) -> int | None:
        """Return how long a dataset keeps its rows (microseconds) by the first rule with `keeps`; None without one."""
        rules = self._rewrites.of(*dataset.parts) if self.rewrites else ()
        return next((rule.keeps_us for rule in rules if rule.keeps_us is not None), None)

    def consumers_of(self, namespace: str, name: str) -> tuple[Consumer, ...]:
        """Return the declared readers of a dataset."""
        return self._consumers.of(namespace, name)

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
    def _tags(self) -> Selected[TagRule]:
        return Selected(((rule.selector, rule) for rule in self.tags), self.names.canonical)

    @cached_property
    def _masking_by_output(self) -> Selected[MaskingRule]:
        return Selected(((rule.output, rule) for rule in self.masking), self.names.canonical)

    @cached_property
    def _masking_by_input(self) -> Selected[MaskingRule]:
        return Selected(((rule.input, rule) for rule in self.masking), self.names.canonical)

    @cached_property
    def _constants(self) -> Selected[Selector]:
        return Selected(((selector, selector) for selector in self.constants), self.names.canonical)

    @cached_property
    def _rewrites(self) -> Selected[WriteRule]:
        return Selected(((rule.selector, rule) for rule in self.rewrites), self.names.canonical)

    @cached_property
    def _consumers(self) -> Selected[Consumer]:
        return Selected(((one.selector, one) for one in self.consumers), self.names.canonical)


NO_RULES = UserRules()
