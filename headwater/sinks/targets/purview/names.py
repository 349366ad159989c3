"""Map datasets to Purview types and qualified names: ordered rules over canonical names, the first match applies."""

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import Any, NamedTuple, Self
from urllib.parse import quote

import yaml
from pydantic import Field, TypeAdapter, model_validator

from headwater.lineage.names.canonical_names import NameRules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.display_names import display_form
from headwater.lineage.names.operations import count_name_parts
from headwater.lineage.names.patterns import Pattern, Template, read_pattern, read_template
from headwater.sinks.interface.options import ConfigModel
from headwater.sinks.targets.purview.atlas import PLACEHOLDER
from headwater.sinks.targets.purview.columns import ColumnNames, ColumnsRule, names_of_placeholder

_WORKSPACE = "databricks_workspace"
"""The placeholder in templates that is replaced with the option `databricks_workspace`."""


class QualifiedNameRule(ConfigModel):
    """One rule, with patterns and templates as in docs/reference/names.md. Without `type`, it makes placeholders."""

    id: str = Field(min_length=1)
    why: str = ""
    namespace: str
    name: str = "{name:rest}"
    type: str | None = Field(None, pattern=r"^\w+$")
    qualified_name: str | None = Field(None, min_length=1)
    shown: str | None = Field(None, min_length=1, description="Display name; default: the last part of the name.")
    bare: bool = Field(False, description="Match only names that were sent without a schema.")
    keeps_case: bool = Field(False, description="Keep the letter case as sent instead of lower case.")
    columns: ColumnsRule | None = Field(None, description="Type of the columns; without it, columns are not created.")

    @model_validator(mode="after")
    def _check_rule(self) -> Self:
        if (self.type is None) != (self.qualified_name is None):
            raise ValueError("`type` and `qualified_name` need each other; without both, the rule makes a placeholder")
        if self.columns and self.type is None:
            raise ValueError("`columns` needs `type`; the columns of a placeholder have a built-in type")
        _compile_rule(self)
        return self


class QualifiedName(NamedTuple):
    """Type and qualified name of a dataset in Purview, with the display name (`shown`) and the rule that applied.

    columns: the names of the dataset's columns, or None if the sink does not create columns.
    """

    type: str
    qualified_name: str
    shown: str
    rule: str
    why: str
    columns: ColumnNames | None = None


class _CompiledRule(NamedTuple):
    rule: QualifiedNameRule
    namespace: Pattern
    name: Pattern
    qualified_name: Template | None
    shown: Template | None
    column: Template | None
    needs_workspace: bool
    """Whether a template contains the Databricks workspace."""

    def apply(self, dataset: Name, sent: "_SentName", workspace: str | None) -> QualifiedName | None:
        if (self.rule.bare and not sent.is_bare) or (workspace is None and self.needs_workspace):
            return None
        spelt = sent.spelling if self.rule.keeps_case else dataset
        space = self.namespace.compiled.fullmatch(spelt.namespace)
        name = self.name.compiled.fullmatch(spelt.name) if space else None
        if space is None or name is None:
            return None
        if self.rule.type is None or self.qualified_name is None:
            return _placeholder_name(dataset, self.rule.id, self.rule.why, sent.display)
        placeholders = space.groupdict() | name.groupdict() | {_WORKSPACE: workspace or ""}
        shown = self.shown.fill(placeholders) if self.shown else sent.display
        named = self.qualified_name.fill(placeholders)
        columns = None
        if self.rule.columns and self.column:
            columns = ColumnNames(self.rule.columns, self.column, {**placeholders, "qualified_name": named})
        return QualifiedName(self.rule.type, named, shown, self.rule.id, self.rule.why, columns)


class _SentName:
    """The name of a dataset as it was sent; the canonical name no longer shows its letter case and missing schema."""

    def __init__(self, dataset: Name, sent: Name | None, forms: NameRules) -> None:
        self._dataset, self._sent, self._forms = dataset, sent, forms

    @property
    def is_bare(self) -> bool:
        """Return whether the name was sent as a bare table, with the database in the namespace."""
        return self._sent is not None and count_name_parts(self._sent.name) == 1

    @property
    def display(self) -> str:
        """Return the display name of a dataset in OneLake; for others, the last part of the path, or the name."""
        form = display_form(self._dataset, self._forms.onelake_names)
        return _last_path_part(self._dataset.name) if form == self._dataset.name else form

    @property
    def spelling(self) -> Name:
        """Return the canonical name in the letter case as sent."""
        if self._sent is None:
            return self._dataset
        steps = reversed(self._forms.explain(*self._sent.parts))
        found = (each.before for each in steps if _casefold_name(each.before) == _casefold_name(self._dataset))
        return next((each for each in found if each.name != self._dataset.name), self._dataset)


class QualifiedNames:
    """The rules of a sink, followed by the shipped rules."""

    def __init__(self, sink_rules: Iterable[QualifiedNameRule], forms: NameRules, workspace: str | None = None) -> None:
        """forms: rules that map names as sent to canonical names (rule 2).

        workspace: host of the Databricks workspace that owns the Hive tables, or None.
        """
        self._workspace = workspace
        self._rules = [_compile_rule(rule) for rule in (*sink_rules, *_shipped_rules())]
        self.forms = forms

    @property
    def entity_types(self) -> list[str]:
        """Return all types of the rules in order, without repeats; a column type follows the type of its table."""
        rules = (each.rule for each in self._rules)
        types = chain.from_iterable((each.type, each.columns.type if each.columns else None) for each in rules)
        return list(dict.fromkeys(each for each in types if each))

    def qualified_name(self, dataset: Name, sent: Name | None = None) -> QualifiedName:
        """Return type and qualified name of a dataset, given its canonical name; every name has a result.

        sent: the name as a producer sent it, for its letter case and whether it has a schema.
        """
        spelling = _SentName(dataset, sent, self.forms)
        found = (each.apply(dataset, spelling, self._workspace) for each in self._rules)
        unknown = "no rule matches its name"
        return next((each for each in found if each), None) or _placeholder_name(
            dataset, "placeholder", unknown, spelling.display
        )

    def explain_name(self, namespace: str, name: str) -> dict[str, Any]:
        """Explain the qualified name of a dataset, given its name as sent.

        Returns the rules that lead to its canonical name (`items`), and the fields of QualifiedName without `columns`.
        """
        steps = [
            {"rule": step.rule, **step.after.as_json, "why": step.why} for step in self.forms.explain(namespace, name)
        ]
        found = self.qualified_name(self.forms.canonical(namespace, name), Name(namespace, name))._asdict()
        return {"items": steps, **{key: value for key, value in found.items() if key != "columns"}}


def _placeholder_name(dataset: Name, rule: str, why: str, shown: str) -> QualifiedName:
    qualified_name = f"openlineage-dataset://{quote(dataset.namespace, safe='')}/{dataset.name}"
    columns = names_of_placeholder(qualified_name)
    return QualifiedName(PLACEHOLDER, qualified_name, shown, rule, why, columns)


def _casefold_name(name: Name) -> tuple[str, str]:
    return name.namespace.lower(), name.name.lower()


def _last_path_part(name: str) -> str:
    """Return the last part of a path; returns other names unchanged."""
    return name.rstrip("/").rpartition("/")[2] or name


def _compile_rule(rule: QualifiedNameRule) -> _CompiledRule:
    """Compile the patterns and templates of a rule; raises ValueError with the problem if one is invalid."""
    namespace, name = read_pattern(rule.namespace), read_pattern(rule.name)
    placeholders, named = set(namespace.compiled.groupindex), set(name.compiled.groupindex)
    if twice := placeholders & named:
        raise ValueError(f"namespace and name both use the placeholder {min(twice)!r}; rename one")
    known = placeholders | named | {_WORKSPACE}
    if _WORKSPACE in placeholders | named:
        raise ValueError(f"the placeholder {_WORKSPACE!r} is reserved for the sink's option; rename it")
    templates = [read_template(text, known) if text else None for text in (rule.qualified_name, rule.shown)]
    columns = rule.columns.parse_template(known) if rule.columns else None
    holes_used = {hole for each in (*templates, columns) if each for _, hole, _ in each.placeholders}
    return _CompiledRule(rule, namespace, name, templates[0], templates[1], columns, _WORKSPACE in holes_used)


@cache
def _shipped_rules() -> tuple[QualifiedNameRule, ...]:
    text = files("headwater.sinks.targets.purview").joinpath("names.yaml").read_text("utf-8")
    return TypeAdapter(tuple[QualifiedNameRule, ...]).validate_python(yaml.safe_load(text))
