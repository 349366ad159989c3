"""`headwater plan`: predict what a change breaks, before it is merged."""

import sys
from collections import Counter
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from headwater.api import routes
from headwater.cli.answer_source import open_answer_source
from headwater.cli.options import Data, Json, Key, Server, example_text
from headwater.cli.printing import list_table, print_value
from headwater.common.counts import count_with_noun
from headwater.common.errors import WrongSetting

if TYPE_CHECKING:
    from headwater.governance.planning.schema import PlannedSchema


app = typer.Typer()


class FailOn(StrEnum):
    """The outcomes with which `plan` exits with status 1."""

    BREAKS = "breaks"
    MAY_BREAK = "may-break"


_SHOWN = ("outcome", "what", "columns", "jobs", "consumers", "contracts", "owners", "note")
_LISTED = 5


@app.command(epilog=example_text("headwater", "plan", "ALTER TABLE silver.orders DROP COLUMN amount"))
def plan(
    changes: Annotated[
        list[str],
        typer.Argument(metavar="FILE|SQL...", help="SQL files, SQL statements, YAML files, or a dbt manifest.json."),
    ],
    dialect: Annotated[
        str | None,
        typer.Option(help="SQL dialect: spark, databricks, tsql, postgres, snowflake, bigquery, duckdb."),
    ] = None,
    namespace: Annotated[
        str | None, typer.Option(help="Namespace of the tables, if several tables have the same name.")
    ] = None,
    contracts: Annotated[
        list[Path] | None, typer.Option("--contracts", help="Data contract (ODCS) or folder of them; repeatable.")
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Write a Markdown report to this file, for a pull request; - prints it.")
    ] = None,
    fail_on: Annotated[
        FailOn, typer.Option("--fail-on", help="Exit with 1 if something breaks, or also if it may break.")
    ] = FailOn.BREAKS,
    strict: Annotated[bool, typer.Option("--strict", help="Deprecated: use --fail-on may-break.")] = False,
    server: Server = None,
    key: Key = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Predict what a change breaks: downstream columns, jobs, consumers, contracts. Exits with 1 if anything breaks."""
    from headwater.governance.planning.findings import plan_findings
    from headwater.governance.planning.markdown import plan_markdown
    from headwater.governance.planning.schema import PlannedSchema, PresentTables
    from headwater.governance.planning.yaml_changes import read_promised_columns

    questions = {each.path: each for each in routes.ROUTES}
    with open_answer_source(server, key, data) as source:

        def ask(question: str, asked: Any) -> Any:
            return source.ask(questions[question], asked)

        tables = PresentTables(ask, namespace)
        schema = PlannedSchema(tables.find_table)
        used = dialect
        for each in changes:
            used = _apply_change(each, dialect, schema) or used
        held = read_promised_columns(_read_yaml_files(contracts or []), tables.find_table)
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
        print_value(
            found,
            as_json,
            lambda: list_table(
                _plan_title(counts, unread), {"items": [_finding_row(each) for each in findings]}, _SHOWN
            ),
        )
    fails_on_more = strict or fail_on is FailOn.MAY_BREAK
    is_bad = counts["breaks"] or (fails_on_more and (counts["may break"] or counts["not known"]))
    sys.exit(1 if is_bad else 0)


def _apply_change(change: str, dialect: str | None, schema: "PlannedSchema") -> str | None:
    """Apply the changes of a file or statement to a schema. Returns the SQL dialect, None for YAML."""
    from headwater.governance.planning.dbt_manifest import apply_manifest, dialect_of, is_manifest
    from headwater.governance.planning.sql_changes import DIALECTS, apply_sql
    from headwater.governance.planning.yaml_changes import apply_yaml

    if dialect is not None and dialect not in DIALECTS:
        raise WrongSetting(f"--dialect {dialect!r} is not known. Write one of {', '.join(DIALECTS)}.")
    path = Path(change)
    is_file = len(change) < 4_000 and "\n" not in change and path.is_file()
    if not is_file and " " not in change.strip():
        raise WrongSetting(
            f"{change!r} is neither a file nor an SQL statement. Give a .sql, .yml or .json file, or a statement."
        )
    if not is_file or path.suffix.lower() not in (".yml", ".yaml", ".json"):
        text = path.read_bytes().decode("utf-8-sig", "replace") if is_file else change
        apply_sql(text, dialect or "spark", schema, change if is_file else "The statement")
        return dialect or "spark"
    if path.suffix.lower() != ".json":
        apply_yaml(path.read_bytes(), schema, change)
        return dialect
    try:
        manifest = msgspec.json.decode(path.read_bytes())
    except (msgspec.DecodeError, RecursionError) as error:
        raise WrongSetting(f"{change} is not valid JSON: {error}. Give target/manifest.json of dbt.") from error
    if not is_manifest(manifest):
        raise WrongSetting(
            f"{change} is not a dbt manifest: it has no `nodes` and `metadata`. Give target/manifest.json of dbt."
        )
    apply_manifest(manifest, schema, change)
    return dialect_of(manifest)


def _read_yaml_files(places: list[Path]) -> Iterator[tuple[str, bytes]]:
    for place in places:
        if not place.exists():
            raise WrongSetting(f"{place} does not exist. Give a contract or a folder of contracts.")
        files = sorted(place.rglob("*.y*ml")) if place.is_dir() else [place]
        yield from ((str(each), each.read_bytes()) for each in files if each.is_file())


def _plan_title(counts: Counter[str], unread: int) -> str:
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in counts.items()) or "no changes"
    return f"Plan, {outcomes}, {count_with_noun(unread, 'statement')} not understood"


def _finding_row(finding: Any) -> dict[str, Any]:
    from headwater.governance.planning.markdown import change_text, column_text

    return {
        "outcome": finding.outcome,
        "what": change_text(finding),
        "columns": _shorten_list([column_text(each) for each in finding.columns]),
        "jobs": _shorten_list(finding.jobs),
        "consumers": _shorten_list(finding.consumers),
        "contracts": _shorten_list(finding.contracts),
        "owners": _shorten_list(list(finding.owners)),
        "note": finding.note,
    }


def _shorten_list(names: list[str]) -> str:
    more = f"\n… and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return "\n".join(names[:_LISTED]) + more
