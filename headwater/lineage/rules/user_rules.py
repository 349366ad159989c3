"""What users declare beside the events: names, tags, masking, constants, consumers. A frozen value of questions."""

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
    """A tag on datasets, or on columns where the selector names one."""

    selector: Selector
    key: str
    value: str


class MaskingRule(NamedTuple):
    """A step declared to mask or not to mask; what is left out fits every step."""

    masked: bool
    job: str | None
    output: Selector
    input: Selector
    description: str | None

    def fits(self, job: str, output: SelectedColumn, source: SelectedColumn, description: str) -> bool:
        """Tell whether the rule speaks of a step into an output dataset that already fits."""
        return (
            self.output.fits_column(output.column)
            and self.input.fits_column(source.column)
            and fits(self.job, job)
            and fits(self.description, description)
        )


class Consumer(NamedTuple):
    """A declared reader of columns of a dataset; without columns it reads them all."""

    consumer: str
    measure: str | None
    selector: Selector
    columns: tuple[str, ...]

    def reads(self, column: str) -> bool:
        """Tell whether it reads a column."""
        return not self.columns or any(fits(glob.casefold(), column.casefold()) for glob in self.columns)


class WriteRule(NamedTuple):
    """How producers, jobs or datasets write, and how long a dataset keeps its rows.

    writes: `whole`, `part` or `append`; None where the rule only tells what a dataset keeps. run: the id of a single
    run.
    """

    producer: str | None
    job: str | None
    selector: Selector
    writes: str | None
    keeps_us: int | None
    run: str | None = None

    def fits(self, producer: str, job: str, run_key: str) -> bool:
        """Tell whether the rule applies to a write into a dataset that already fits."""
        if self.run is not None and self.run.casefold() != run_id_of(run_key).casefold():
            return False
        return fits(self.producer, producer) and fits(self.job, job)


def nothing_hidden(_: Name) -> bool:
    """Leave no dataset out."""
    return False


@dataclass(frozen=True)
class UserRules:
    """All that users declare. Datasets are asked for by canonical name; exact names in rules may be any alias.

    window_us: how long an execution counts as use after it ended, if a question names no other window; None: 92 days.
    tags_file: where messages send people to declare tags; no part of the rules.
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
        """The version of the rules in index, silver and gold: what changes with any rule or their code."""
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
        """Return (key, value) of the tags on a column, or with None on the dataset itself."""
        rules = self._tags.of(namespace, name)
        if column is None:
            return frozenset((rule.key, rule.value) for rule in rules if rule.selector.column is None)
        fitting = (rule for rule in rules if rule.selector.column is not None and rule.selector.fits_column(column))
        return frozenset((rule.key, rule.value) for rule in fitting)

    def masking_of(
        self, job: str, output: SelectedColumn, source: SelectedColumn, description: str = ""
    ) -> bool | None:
        """Tell whether a step was declared masked or not masked: the first rule that fits counts, None without one.

        job: the job's name; description: the transformation's own, where the producer gave one.
        """
        if not self.masking:
            return None
        rules = self._masking_by_output.of(output.namespace, output.name)
        from_here = self._masking_by_input.of(source.namespace, source.name) if rules else ()
        both = (rule for rule in rules if rule in from_here and rule.fits(job, output, source, description))
        return next((rule.masked for rule in both), None)

    def is_constant(self, dataset: Name, column: str) -> bool:
        """Tell whether a column was declared to be made of no column, itself or a struct that it is nested in."""
        rules = self._constants.of(*dataset.parts)
        names = (column, *parents(column, frozenset())) if rules else ()
        return any(rule.fits_column(name) for rule in rules for name in names)

    def writes_of(self, producer: str, job: str, run_key: str, output: Name) -> str | None:
        """Return how a run of a job of a producer was declared to write a dataset: the first rule that fits counts."""
        rules = self._rewrites.of(*output.parts) if self.rewrites else ()
        return next((rule.writes for rule in rules if rule.writes and rule.fits(producer, job, run_key)), None)

    def declares_writes(self, output: Name) -> bool:
        """Tell whether a rule may speak of how a dataset is written."""
        return bool(self.rewrites) and any(rule.writes for rule in self._rewrites.of(*output.parts))

    def keeps_us(self, dataset: Name) -> int | None:
        """Return how long a dataset was declared to keep its rows (us); the first rule that tells it counts."""
        rules = self._rewrites.of(*dataset.parts) if self.rewrites else ()
        return next((rule.keeps_us for rule in rules if rule.keeps_us is not None), None)

    def consumers_of(self, namespace: str, name: str) -> tuple[Consumer, ...]:
        """Return the declared readers of a dataset."""
        return self._consumers.of(namespace, name)

    def is_system(self, dataset: Name) -> bool:
        """Tell whether a database keeps a dataset of itself: maps and lists leave it out, no verdict does."""
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
