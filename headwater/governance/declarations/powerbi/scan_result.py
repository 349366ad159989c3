"""Parses the response of Power BI's admin API `workspaces/scanResult`, with schema and expressions. No I/O."""

from collections.abc import Iterator
from typing import Any

from headwater.governance.declarations.powerbi.semantic_model import Measure, ModelColumn, ModelTable, SemanticModel


def models_of_scan(scan: Any) -> Iterator[SemanticModel]:
    """Yield the models of a decoded response. Members of an unexpected type are ignored."""
    for workspace in _dicts(scan, "workspaces"):
        space = _text(workspace, "name") or _text(workspace, "id") or "unknown"
        reports = _dicts(workspace, "reports")
        for found in _dicts(workspace, "datasets"):
            name = _text(found, "name") or _text(found, "id") or "unknown"
            model = SemanticModel(space, name, owner=_text(found, "configuredBy"))
            model.expressions = {
                shared: text
                for each in _dicts(found, "expressions")
                if (shared := _text(each, "name")) and (text := _text(each, "expression"))
            }
            for table in _dicts(found, "tables"):
                _read_table(model, table)
            shown = [each for each in reports if each.get("datasetId") == found.get("id") and found.get("id")]
            model.reports = [called for each in shown if (called := _text(each, "name"))]
            yield model


def _read_table(model: SemanticModel, decoded: Any) -> None:
    name = _text(decoded, "name")
    if name is None:
        return
    table: ModelTable = model.table(name)
    for column in _dicts(decoded, "columns"):
        if called := _text(column, "name"):
            known = _text(column, "expression"), _text(column, "sourceColumn")
            table.columns.append(ModelColumn(called, _text(column, "dataType"), *known))
    for measure in _dicts(decoded, "measures"):
        if called := _text(measure, "name"):
            details = _text(measure, "expression") or "", _text(measure, "description")
            table.measures.append(Measure(called, *details))
    for source in _dicts(decoded, "source"):
        entity, text = _text(source, "entityName"), _text(source, "expression")
        if entity:
            table.sources.append(f"entity:{_text(source, 'schemaName') or ''}/{entity}")
        elif text:
            table.sources.append(text)


def _dicts(value: Any, name: str) -> list[dict[str, Any]]:
    listed = value.get(name) if isinstance(value, dict) else None
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


def _text(value: Any, name: str) -> str | None:
    found = value.get(name)
    if isinstance(found, list):  # TMSL stores texts as lists of lines
        found = "\n".join(each for each in found if isinstance(each, str))
    return found if isinstance(found, str) and found else None
