"""`headwater plan`: what a change would break, before it is merged."""

import sys
from collections import Counter
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from headwater.api import api_routes
from headwater.cli.asking import asking
from headwater.cli.options import LOOK, Data, Json, Key, Server, example
from headwater.cli.printing import show, table
from headwater.errors import WrongSetting

if TYPE_CHECKING:
    from headwater.planning.planned_schema import PlannedSchema

app = typer.Typer()


class FailOn(StrEnum):
    """Which outcomes give status 1."""

    BREAKS = "breaks"
    MAY_BREAK = "may-break"


_SHOWN = ("outcome", "what", "columns", "jobs", "consumers", "contracts", "note")
_LISTED = 5


@app.command(rich_help_panel=LOOK, epilog=example("headwater", "plan", "ALTER TABLE silver.orders DROP COLUMN amount"))
def plan(
    changes: Annotated[
        list[str],
        typer.Argument(metavar="FILE|SQL...", help="SQL files or statements, YAML, or a manifest.json of dbt."),
    ],
    dialect: Annotated[
        str | None, typer.Option(help="Of SQL: spark, databricks, tsql, postgres, snowflake, bigquery, duckdb.")
    ] = None,
    namespace: Annotated[
        str | None, typer.Option(help="Namespace of the tables, where a name alone fits several.")
    ] = None,
    contracts: Annotated[
        list[Path] | None, typer.Option("--contracts", help="A folder of data contracts (ODCS) that are to hold.")
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Write it as Markdown, for a pull request; - prints it.")
    ] = None,
    fail_on: Annotated[
        FailOn, typer.Option("--fail-on", help="Status 1 if anything breaks, or also if it may break or is not known.")
    ] = FailOn.BREAKS,
    strict: Annotated[bool, typer.Option("--strict", help="Deprecated: write --fail-on may-break.")] = False,
    server: Server = None,
    key: Key = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Tell what a change would break: columns downstream, jobs, consumers, contracts. Status 1 if anything."""
    from headwater.planning.contracts_held import held_contracts
    from headwater.planning.plan_findings import plan_findings
    from headwater.planning.plan_markdown import plan_markdown
    from headwater.planning.planned_schema import PlannedSchema
    from headwater.planning.present_tables import PresentTables

    questions = {each.path: each for each in api_routes.ROUTES}
    with asking(server, key, data) as source:

        def ask(question: str, asked: Any) -> Any:
            return source.ask(questions[question], asked)

        tables = PresentTables(ask, namespace)
        schema = PlannedSchema(tables.look)
        used = dialect
        for each in changes:
            used = _take(each, dialect, schema) or used
        held = held_contracts(_yaml_files(contracts or []), tables.look)
        findings = [*plan_findings(schema.changes(), tables, ask, held, used)]
    text = plan_markdown(findings)
    if markdown is not None and str(markdown) != "-":
        markdown.write_text(text, "utf-8")
    counts = Counter[str](each.outcome for each in findings)
    items = [{**each._asdict(), "columns": [column._asdict() for column in each.columns]} for each in findings]
    unread = sum(each.change == "not_understood" for each in findings)
    found = {"outcomes": counts, "notUnderstood": unread, "items": items, "totalCount": len(items), "truncated": False}
    if str(markdown) == "-" and not as_json:
        sys.stdout.write(text)
    else:
        show(
            found, as_json, lambda: table(_title(counts, unread), {"items": [_row(each) for each in findings]}, _SHOWN)
        )
    fails_on_more = strict or fail_on is FailOn.MAY_BREAK
    is_bad = counts["breaks"] or (fails_on_more and (counts["may break"] or counts["not known"]))
    sys.exit(1 if is_bad else 0)


def _take(change: str, dialect: str | None, schema: "PlannedSchema") -> str | None:
    """Let a file or a statement change a schema; returns its dialect, where it is of one."""
    from headwater.planning.dbt_manifest import dialect_of, is_manifest, take_manifest
    from headwater.planning.listed_changes import take_yaml
    from headwater.planning.sql_changes import DIALECTS, take_sql

    if dialect is not None and dialect not in DIALECTS:
        raise WrongSetting(f"--dialect {dialect!r} is not known. Write one of {', '.join(DIALECTS)}.")
    path = Path(change)
    is_file = len(change) < 4_000 and "\n" not in change and path.is_file()
    if not is_file and " " not in change.strip():
        raise WrongSetting(
            f"{change!r} is neither a file nor a statement. Name a .sql, .yml or .json file, or write SQL."
        )
    if not is_file or path.suffix.lower() not in (".yml", ".yaml", ".json"):
        text = path.read_bytes().decode("utf-8-sig", "replace") if is_file else change
        take_sql(text, dialect or "spark", schema, change if is_file else "The statement")
        return dialect or "spark"
    if path.suffix.lower() != ".json":
        take_yaml(path.read_bytes(), schema, change)
        return dialect
    try:
        manifest = msgspec.json.decode(path.read_bytes())
    except (msgspec.DecodeError, RecursionError) as error:
        raise WrongSetting(f"{change} is no JSON: {error}. Name dbt's target/manifest.json.") from error
    if not is_manifest(manifest):
        raise WrongSetting(
            f"{change} is no manifest of dbt: it has no `nodes` and `metadata`. Name target/manifest.json."
        )
    take_manifest(manifest, schema, change)
    return dialect_of(manifest)


def _yaml_files(places: list[Path]) -> Iterator[tuple[str, bytes]]:
    for place in places:
        if not place.exists():
            raise WrongSetting(f"There is no {place}. Name a folder of contracts, or one of them.")
        files = sorted(place.rglob("*.y*ml")) if place.is_dir() else [place]
        yield from ((str(each), each.read_bytes()) for each in files if each.is_file())


def _title(counts: Counter[str], unread: int) -> str:
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in counts.items()) or "nothing changes"
    return f"Plan, {outcomes}, {unread} statements not understood"


def _row(finding: Any) -> dict[str, Any]:
    from headwater.planning.plan_markdown import change_text, column_text

    return {
        "outcome": finding.outcome,
        "what": change_text(finding),
        "columns": _few([column_text(each) for each in finding.columns]),
        "jobs": _few(finding.jobs),
        "consumers": _few(finding.consumers),
        "contracts": _few(finding.contracts),
        "note": finding.note,
    }


def _few(names: list[str]) -> str:
    more = f"\n… and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return "\n".join(names[:_LISTED]) + more
