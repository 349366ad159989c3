"""Check the queries of alerts and workbook with Microsoft's Kusto analyser and the columns of the tables."""

import re

import pytest

from tests.infra.templates import template, variable
from tools.kusto import findings

pytestmark = pytest.mark.slow

ALERTS, WORKBOOK = "modules/alerts.bicep", "modules/workbook.bicep"
TABLES = {
    "AppTraces": "(TimeGenerated: datetime, Message: string, SeverityLevel: int, AppRoleName: string, "
    "AppRoleInstance: string)",
    "AppRequests": "(TimeGenerated: datetime, ResultCode: string, DurationMs: real, AppRoleName: string)",
    "AzureMetrics": "(TimeGenerated: datetime, ResourceProvider: string, MetricName: string, Total: real)",
}
"""Columns from Microsoft's reference of the tables, as far as our queries use them."""

NUMBER = "60"
"""The replacement for a template's parameter. All parameters in queries are numbers."""


def written_out(text: str) -> str:
    """Return a query after replacing every variable of the template."""
    variables = template(ALERTS)["variables"]
    if text in variables:
        return written_out(variables[text]["value"])
    return re.sub(
        r"\$\{(\w+)\}",
        lambda found: written_out(found[1]) if isinstance(variables.get(found[1], {}).get("value"), str) else NUMBER,
        text,
    )


@pytest.fixture(scope="module")
def queries() -> dict[str, str]:
    rules = [*variable("rules", ALERTS), variable("heartbeat", ALERTS), *variable("sinkRules", ALERTS)]
    charts = variable("charts", WORKBOOK)  # the workbook uses the alerts' expression for the parser's lines
    return {f"{one['name']} {one.get('look', '')}": written_out(one["query"]) for one in (*rules, *charts)}


def test_microsofts_analyser_finds_nothing_and_finds_planted_errors(queries: dict[str, str]) -> None:
    planted = {
        "a column that is not there": queries["lag "].replace("where Message", "where Mesage"),
        "a table that is not there": queries["lag "].replace("AppTraces", "Traces"),
        "an operator that is not there": queries["rejected "].replace("summarize", "sumarize"),
        "a column of a chart that is not there": queries["answers timechart"].replace("ResultCode", "Status"),
        "a text compared with a number": queries["lag "].replace("Waited >", "Message >"),
    }
    said = findings(TABLES, queries | planted)
    assert {name: said[name] for name in queries} == {name: [] for name in queries}
    assert [name for name in planted if not said[name]] == []
