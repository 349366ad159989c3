"""Read rules for names from YAML. `docs/reference/names.md` describes the keys."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.operations import OPERATIONS, PATHS, with_database, without_port
from headwater.lineage.names.patterns import Pattern, Template, first_match, read_pattern, read_template
from headwater.lineage.rules.rule_text import RuleEntry, read_entries

STAGES = ("rewrite", "uri", "system", "case", "path", "fold", "place")
METADATA_OPERATIONS = ("onelake", "warehouse", "link")
"""The names of the operations that use the metadata table."""

_KEYS = (
    "id",
    "why",
    "stage",
    "namespace",
    "name",
    "file",
    "to_namespace",
    "to_name",
    "levels",
    "path",
    "default_port",
    "do",
    "keep",
    "producer",
    "job_namespace",
)
_DIGIT = re.compile("[0-9]")
_ALIAS_KEYS = ("alias", "namespace", "name")


@dataclass(frozen=True)
class NameRule:
    """One rule: the patterns, which must all fit a name, and the changes, in the order in which they are applied.

    Of several patterns in `namespaces` or in `files`, only one must fit.
    """

    id: str
    why: str
    stage: str
    namespaces: tuple[Pattern, ...]
    name: Pattern | None
    files: tuple[Pattern, ...]
    to_namespace: Template | None
    to_name: Template | None
    levels: int | None
    path: str
    default_port: int | None
    do: str | None
    keep: bool
    producer: Pattern | None = None
    job_namespace: Pattern | None = None

    @property
    def has_event_conditions(self) -> bool:
        """Whether the rule has conditions on the event that names the dataset."""
        return self.producer is not None or self.job_namespace is not None

    def match_event(self, producer: str, job_namespace: str) -> dict[str, str] | None:
        """Return the values of the placeholders in the conditions on an event, None if a condition does not fit."""
        values: dict[str, str] = {}
        for pattern, text in ((self.producer, producer), (self.job_namespace, job_namespace)):
            found = pattern.match(text) if pattern else None
            if pattern and found is None:
                return None
            values |= found.groupdict() if found else {}
        return values

    def match_namespace(self, namespace: str) -> dict[str, str] | None:
        """Return the values of the placeholders in the first pattern that fits a namespace, None if no pattern fits."""
        if not self.namespaces:
            return {}
        found = first_match(self.namespaces, namespace)
        return None if found is None else found.groupdict()

    def apply(
        self, name: Name, values: Mapping[str, str], operations: Mapping[str, Callable[[Name], Name]]
    ) -> Name | None:
        """Return the name after the rule is applied to it, None if the rule does not fit.

        values: the result of `match_namespace` for the namespace of the name, optionally with the result of
        `match_event`.
        operations: maps the names of operations to their functions.
        """
        after = self._rewrite(name, values)
        if after is None:
            return None
        if self.levels is not None:
            after = with_database(after, self.levels, self.path)
        if self.default_port is not None:
            after = without_port(after, self.default_port)
        return operations[self.do](after) if self.do else after

    def patterns_for_scheme(self, scheme: str) -> tuple[Pattern, ...] | None:
        """Return the patterns that may fit a namespace with this scheme, None if no pattern may fit.

        The result is empty for a rule without patterns, which fits every namespace.
        """
        found = tuple([one for one in self.namespaces if one.schemes is None or scheme in one.schemes])
        return found if found or not self.namespaces else None

    def _rewrite(self, name: Name, values: Mapping[str, str]) -> Name | None:
        if self.name is not None:
            named = self.name.match(name.name)
            if named is None:
                return None
            values = {**values, **named.groupdict()}
        if self.files:
            return self._folder_of_file(name)
        if self.to_namespace is None and self.to_name is None:
            return name
        namespace = self.to_namespace.fill(values) if self.to_namespace else name.namespace
        return Name(namespace, self.to_name.fill(values) if self.to_name else name.name)

    def _folder_of_file(self, name: Name) -> Name | None:
        """Return the folder of a file; None if no pattern fits the file name, or if the path has no folder."""
        folder, _, file = name.name.rpartition("/")
        fits = _DIGIT.search(file) and folder.strip("/") and first_match(self.files, file)
        return Name(name.namespace, folder.rstrip("/")) if fits else None


@dataclass(frozen=True)
class NameFile:
    """The content of a `names.yaml` file.

    rules: the rules in order.
    aliases: (business name, dataset) pairs.
    complete_lists: glob patterns for producers that always send complete lists of columns (rule 12.6).
    """

    rules: tuple[NameRule, ...] = ()
    aliases: tuple[tuple[str, Name], ...] = ()
    complete_lists: tuple[str, ...] = ()


def read_name_rules(text: str, file: str) -> NameFile:
    """Read the content of a `names.yaml` file; file: its name for error messages.

    Raises WrongSetting, which names file, line and rule, and how to correct the error.
    """
    sections = {"rules": _KEYS, "aliases": _ALIAS_KEYS, "complete_lists": ("producer",)}
    entries = read_entries(text, file, sections)
    rules = tuple(read_rule(entry) for entry in entries["rules"])
    aliases = (
        (one.required_text("alias"), Name(one.required_text("namespace"), one.required_text("name")))
        for one in entries["aliases"]
    )
    return NameFile(rules, tuple(aliases), tuple(map(_producer, entries["complete_lists"])))


def _producer(entry: RuleEntry) -> str:
    producer = entry.required_text("producer")
    if set("*?/.:") >= {*producer}:
        raise entry.setting_error(
            "the pattern matches every producer", "write the producer or a part of its URI, as in `https://acme/*`"
        )
    return producer


def read_rule(entry: RuleEntry, operations: tuple[str, ...] = (*OPERATIONS, *METADATA_OPERATIONS)) -> NameRule:
    """Read one rule; raises WrongSetting if the rule is invalid. operations: the operations that the rule may use."""
    namespaces = tuple(_pattern(entry, text) for text in entry.texts("namespace"))
    name = _pattern(entry, text) if (text := entry.optional_text("name")) is not None else None
    producer, job_namespace = (
        _pattern(entry, text) if (text := entry.optional_text(key)) is not None else None
        for key in ("producer", "job_namespace")
    )
    placeholders = set.intersection(*(one.placeholders for one in namespaces)) if namespaces else set()
    named = name.placeholders if name else set()
    if placeholders & named:
        raise entry.setting_error(
            f"namespace and name share the placeholder {min(placeholders & named)!r}", "rename one of them"
        )
    for condition in filter(None, (producer, job_namespace)):
        if shared := (placeholders | named) & condition.placeholders:
            raise entry.setting_error(f"two patterns share the placeholder {min(shared)!r}", "rename one of them")
        placeholders = placeholders | condition.placeholders
    rule = NameRule(
        id=entry.required_text("id"),
        why=entry.optional_text("why") or "",
        stage=entry.optional_text("stage") or STAGES[0],
        namespaces=namespaces,
        name=name,
        files=tuple(_pattern(entry, text) for text in entry.texts("file")),
        to_namespace=_template(entry, "to_namespace", placeholders | named),
        to_name=_template(entry, "to_name", placeholders | named),
        levels=entry.integer("levels"),
        path=entry.optional_text("path") or PATHS[0],
        default_port=entry.integer("default_port"),
        do=entry.optional_text("do"),
        keep=entry.flag("keep") or False,
        producer=producer,
        job_namespace=job_namespace,
    )
    _check_rule(entry, rule, operations)
    return rule


def _check_rule(entry: RuleEntry, rule: NameRule, known: tuple[str, ...]) -> None:
    if rule.stage not in STAGES:
        raise entry.setting_error(f"unknown stage {rule.stage!r}", f"stages: {', '.join(STAGES)}")
    if rule.has_event_conditions and (rule.do in METADATA_OPERATIONS or entry.optional_text("stage") is not None):
        raise entry.setting_error(
            "a rule with conditions on the event can use neither `stage` nor the metadata table",
            f"remove `stage`, and remove `do` if it is one of {', '.join(METADATA_OPERATIONS)}",
        )
    if rule.do is not None and rule.do not in known:
        raise entry.setting_error(f"unknown operation {rule.do!r}", f"operations: {', '.join(known)}")
    if rule.path not in PATHS or (entry.optional_text("path") is not None and rule.levels is None):
        raise entry.setting_error(
            f"`path: {rule.path}` is invalid or used without `levels`", f"add `levels`, and use {' or '.join(PATHS)}"
        )
    changes = (rule.to_namespace, rule.to_name, rule.levels, rule.default_port, rule.do)
    if rule.keep != (not rule.files and all(change is None for change in changes)):
        raise entry.setting_error(
            "a rule must either change the name or keep it", "add to_namespace, to_name, file …, or `keep: true`"
        )


def _pattern(entry: RuleEntry, text: str) -> Pattern:
    try:
        return read_pattern(text)
    except ValueError as error:
        raise entry.setting_error(str(error), "see docs/reference/names.md") from error


def _template(entry: RuleEntry, key: str, known: set[str]) -> Template | None:
    text = entry.optional_text(key)
    try:
        return None if text is None else read_template(text, known)
    except ValueError as error:
        raise entry.setting_error(str(error), "see docs/reference/names.md") from error
