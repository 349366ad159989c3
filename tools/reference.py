"""Generate pages of docs/reference/ from code: `python -m tools.reference`. With `--check`, only compare them.

Each function in `PAGES` returns the text of one page. `tests/project/test_docs.py` fails if a page is stale.
"""

import ast
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from headwater import tables
from headwater.api.marquez.routes import HANDLERS
from headwater.api.openapi import openapi_document
from headwater.api.routes import ROUTES
from headwater.common.environment import variable_name
from headwater.lineage.names.rule_parser import STAGES, read_name_rules
from headwater.operations.settings import Settings
from headwater.sinks.interface.options import EventFilter, Options
from headwater.sinks.interface.target_registry import TARGETS
from headwater.tables import ListOf, StructOf, Table, Type
from tools import azure_cost, command_reference

ROOT = Path(__file__).parents[1]
HELP = ROOT / "headwater" / "cli" / "help.txt"
"""Printed by `headwater --help` without the extra `server`."""
REFERENCE = ROOT / "docs" / "reference"
NAME_RULES = ROOT / "headwater" / "lineage" / "names" / "names.yaml"
NAME_EXAMPLES = ROOT / "tests" / "fixtures" / "names" / "shipped.tsv"
"""Names that the shipped rules change, by rule: namespace and name as sent, canonical namespace and name."""
NOTE = "<!-- Written by `python -m tools.reference`. Change the code, not this page. -->"


def azure_costs() -> str:
    """Compute the monthly costs of each tier on Azure."""
    intro = (
        "What Headwater costs a month on Azure, computed from the tiers in `infra/bicep` and stated prices. "
        "[Headwater on Azure](../how-to/platform-operator/azure.md#cost) names the settings that lower the costs."
    )
    return _page("# Costs on Azure", intro, *azure_cost.assumptions(), azure_cost.tables())


def commands() -> str:
    """Describe every command with its arguments and options."""
    return _page("# Commands", command_reference.reference().rstrip())


def http() -> str:
    """List the requests of the OpenAPI document."""
    spec = openapi_document(ROUTES)
    parts = [
        "# HTTP requests",
        "Every server answers `GET /openapi.json` with this list as an OpenAPI 3.1 document that also contains the "
        "types of all answers, and `GET /docs` with a page. [HTTP API](api.md) describes sending events, keys and "
        "statuses; [Questions](questions.md) describes the answers.",
    ]
    for path, operations in spec["paths"].items():
        for method, operation in operations.items():
            rows = [
                (
                    f"`{each['name']}`",
                    f"{'required. ' if each.get('required') else ''}{_one_line(each.get('description', ''))}",
                )
                for each in operation.get("parameters", ())
            ]
            text = _one_line(operation.get("summary") or operation.get("description") or "")
            parts += [f"## {method.upper()} {path}", text, _table(("parameter", "meaning"), rows)]
    return _page(*(part for part in parts if part))


def marquez() -> str:
    """List the requests of Marquez's API that Headwater answers."""
    rows = [
        (f"`{method} /api/v1/{path}`".replace("/api/v1//", "/"), _REQUEST.sub("", _first_line(handler.__doc__ or "")))
        for path, handlers in HANDLERS.items()
        for method, handler in handlers.items()
    ]
    return _page(
        "# Requests of Marquez's API",
        "The requests of Marquez that Headwater answers. [The API of Marquez](marquez.md) describes each answer, and "
        "where it differs from Marquez.",
        _table(("request", "answer"), rows),
    )


_REQUEST = re.compile(r"^[A-Z]+ /\S+?(?:[:.,]|(?= ))(?: and [A-Z]+ /\S+?[:.,]?(?= |$))? ?")
"""Matches the request at the start of a handler's docstring."""


def columns() -> str:
    """List the tables of each layer with their columns and types."""
    parts = [
        "# Columns of the tables",
        "Names, columns and types of all Delta tables. Times are UTC microseconds. [Tables of the lake](tables.md) "
        "describes the rows of bronze, and [silver and gold](silver-and-gold.md) those of the other layers.",
    ]
    other = (tables.SINK_FAILURES, tables.ADMIN_LOG, tables.SENT_RUNS)
    for layer, found in (("bronze", tables.BRONZE), ("silver", tables.SILVER), ("gold", tables.GOLD), ("other", other)):
        parts.append(f"## {layer.capitalize()}")
        for table in _tables(found):
            parts.append(f"### {table.name}")
            if table.partition_by:
                parts.append("Partitioned by " + ", ".join(f"`{each}`" for each in table.partition_by) + ".")
            parts.append(
                _table(("column", "type"), [(f"`{name}`", f"`{_type(of)}`") for name, of in table.columns.items()])
            )
    return _page(*parts)


def _tables(found: Mapping[str, Table] | Iterable[Table]) -> Iterable[Table]:
    return found.values() if isinstance(found, Mapping) else found


def _type(of: Type) -> str:
    if isinstance(of, ListOf):
        return f"array<{_type(of.item)}>"
    if isinstance(of, StructOf):
        return f"struct<{', '.join(f'{name}: {_type(each)}' for name, each in of.fields.items())}>"
    return of


def metrics() -> str:
    """List the metrics that are declared in the code."""
    rows = []
    for path in sorted([*(ROOT / "headwater").rglob("*.py"), *(ROOT / "functions").rglob("*.py")]):
        text = path.read_text("utf-8")
        if "prometheus_client" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _METRICS:
                given = [str(each.value) for each in node.args if isinstance(each, ast.Constant)]
                if len(given) == 2 and given[0].startswith("headwater_"):
                    name = f"{given[0]}_total" if node.func.id == "Counter" else given[0]
                    labels = [ast.literal_eval(each) for each in node.args if isinstance(each, ast.List)]
                    where = "Function App" if path.is_relative_to(ROOT / "functions") else ""
                    shown = ", ".join(f"`{label}`" for each in labels for label in each)
                    rows.append((f"`{name}`", node.func.id.lower(), shown, given[1], where))
    return _page(
        "# Metrics",
        "`GET /metrics` answers in the format of Prometheus. Every server reports the metrics of the parts that it "
        "runs. [Operations](../how-to/platform-operator/operations.md) names those that should alert.",
        _table(("metric", "kind", "labels", "meaning", "only in"), sorted(rows)),
    )


_METRICS = {"Counter", "Gauge", "Histogram", "Summary"}


def facets() -> str:
    """List the facets of OpenLineage's specification and registry, and the parts of the code that read each."""
    known: dict[str, str] = {}
    spec = ROOT / "headwater" / "events" / "spec"
    for path in sorted(spec.rglob("*.json")):
        for name, kind in _facet_names(json.loads(path.read_text("utf-8"))):
            known.setdefault(name, kind)
    readers: dict[str, set[str]] = {}
    for path in sorted((ROOT / "headwater").rglob("*.py")):
        part = _part(path.relative_to(ROOT / "headwater"))
        if part is None:
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in known:
                readers.setdefault(node.value, set()).add(part)
    rows = [(f"`{name}`", known[name], ", ".join(sorted(readers[name]))) for name in sorted(readers, key=str.lower)]
    stored = ", ".join(f"`{name}`" for name in sorted(known, key=str.lower) if name not in readers)
    return _page(
        "# Facets",
        "Headwater stores every facet of an event, and answers show them as sent. The table lists the facets of "
        "OpenLineage's specification and registry that a part of Headwater also interprets.",
        _table(("facet", "of", "read by"), rows),
        f"The others are stored and shown only: {stored}.",
    )


_PARTS = {"events": "events", "lineage": "rules of lineage", "index": "index", "questions": "questions"}
_KINDS = {"Run": "run", "Job": "job", "Dataset": "dataset", "InputDataset": "input", "OutputDataset": "output"}


def _part(path: Path) -> str | None:
    if path.parts[:2] == ("api", "marquez"):
        return "Marquez API"
    if path.parts[:2] == ("sinks", "targets"):
        return f"sink `{Path(path.parts[2]).stem}`"
    return _PARTS.get(path.parts[0])


def _facet_names(schema: Any) -> Iterator[tuple[str, str]]:
    """Yield the names of the facets in a facet schema, and the kind of entity that each belongs to."""
    if not isinstance(schema, dict):
        return
    found: dict[str, Any] = schema.get("$defs") or schema.get("definitions") or {}
    for definition in found.values():
        bases = re.findall(r"#/\$defs/(\w+?)Facet\"", json.dumps(definition.get("allOf", [])))
        kind = next((_KINDS[base] for base in bases if base in _KINDS), None)
        if kind:
            for name, each in (schema.get("properties") or {}).items():
                if "$ref" in each:
                    yield name, kind


def sink_options() -> str:
    """List the options of every type of sink."""
    common = set(Options.model_fields)
    parts = [
        "# Options of sinks",
        "The keys of a sink in `sinks.yml`. [Sinks](sinks.md) describes what each target receives, with examples.",
        "## Every sink",
        _table(("option", "default", "meaning"), _options(Options.model_fields)),
    ]
    for name in TARGETS.names():
        module = TARGETS.get(name)
        if module is None or not module.__name__.startswith("headwater."):  # type: ignore[attr-defined]  # a module
            continue
        own = {key: field for key, field in module.OPTIONS.model_fields.items() if key not in common}
        changed = {key: field for key, field in module.OPTIONS.model_fields.items() if key == "every"}
        differs = [row for row in _options(changed) if row not in _options(Options.model_fields)]
        parts += [f"## {name}", _table(("option", "default", "meaning"), [*_options(own), *differs])]
    return _page(*parts)


def _options(fields: Mapping[str, FieldInfo]) -> list[tuple[str, str, str]]:
    rows = []
    for name, field in fields.items():
        if field.default is PydanticUndefined:
            made = field.default_factory() if field.default_factory else None  # type: ignore[call-arg]  # takes nothing
            default = "" if made is None or not isinstance(made, str | int | float) else f"`{made}`"
            default = "required" if field.is_required() else default
        else:
            default = "" if field.default in (None, (), {}, "") else f"`{field.default}`"
        choices = [each for each in get_args(field.annotation) if isinstance(each, str)] if name != "type" else []
        values = f" One of {', '.join(f'`{each}`' for each in choices)}." if choices else ""
        rows.append((f"`{field.alias or name}`", default, f"{_one_line(field.description or '')}{values}"))
        if isinstance(field.annotation, type) and issubclass(field.annotation, EventFilter):
            inner = _options(field.annotation.model_fields)
            rows += [(f"`{name}.{key.strip('`')}`", value, meaning) for key, value, meaning in inner]
    return rows


def name_rules() -> str:
    """List the shipped rules for names by stage, with examples."""
    head, *examples = (line.split("\t") for line in NAME_EXAMPLES.read_text("utf-8").splitlines())
    parts = [
        "The rules that turn names of datasets into canonical names, in the order in which they apply. "
        "[Names of datasets](names.md) describes patterns and how to add rules of your own. `headwater names` shows "
        "the rules that change a name, with their reasons."
    ]
    shipped = read_name_rules(NAME_RULES.read_text("utf-8"), NAME_RULES.name).rules
    for stage in STAGES:
        ids = {rule.id for rule in shipped if rule.stage == stage}
        rows = [[f"`{cell}`" for cell in example] for example in examples if example[0] in ids]
        parts += [f"## Stage `{stage}`", _table(head, rows)]
    return _page("# Shipped rules for names", *parts)


def settings_rows() -> str:
    """Return the table of settings that is part of docs/reference/settings.md."""
    rows = []
    for name, field in Settings.model_fields.items():
        default = field.default
        value = str(default) if isinstance(default, Path) else repr(default).replace("'", '"')
        shown = "" if default is None else f"`{value}`"
        rows.append(f"| `{name}` | `{variable_name(name)}` | {shown} | {field.description} |")
    return "\n".join(["| setting | variable | default | what it is |", "|---|---|---|---|", *rows])


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    used = [at for at in range(len(head)) if any(row[at] for row in rows)]
    lines = [[head[at] for at in used], ["---"] * len(used), *([row[at] for at in used] for row in rows)]
    return "\n".join(f"| {' | '.join(_cell(each) for each in line)} |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;") if "`" not in text else text.replace("|", "\\|")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _first_line(text: str) -> str:
    return _one_line(text.strip().partition("\n\n")[0])


def _page(title: str, *parts: str) -> str:
    return "\n\n".join([title, NOTE, *(part for part in parts if part)]) + "\n"


PAGES: Mapping[str, Callable[[], str]] = {
    "azure-costs.md": azure_costs,
    "columns.md": columns,
    "commands.md": commands,
    "facets.md": facets,
    "http-requests.md": http,
    "marquez-requests.md": marquez,
    "metrics.md": metrics,
    "name-rules.md": name_rules,
    "sink-options.md": sink_options,
}
"""The generated pages of docs/reference/ and the function that generates each."""

_SETTINGS = re.compile(r"^\| setting \|.*?(?=\n\n)", re.MULTILINE | re.DOTALL)


def texts() -> dict[Path, str]:
    """Return the path and the generated text of each page."""
    settings = REFERENCE / "settings.md"
    with_rows = _SETTINGS.sub(lambda _: settings_rows(), settings.read_text("utf-8"), count=1)
    return {REFERENCE / name: page() for name, page in PAGES.items()} | {
        settings: with_rows,
        HELP: command_reference.help_text(),
    }


def stale() -> list[str]:
    """Return the names of the pages that differ from their generated text."""
    return [path.name for path, text in texts().items() if not path.exists() or path.read_text("utf-8") != text]


def main() -> int:
    """Write the pages, or with --check print the stale ones."""
    if "--check" in sys.argv:
        found = stale()
        sys.stdout.write("".join(f"{name} is stale: run `python -m tools.reference`\n" for name in found))
        return 1 if found else 0
    for path, text in texts().items():
        path.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
