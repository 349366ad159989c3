"""`headwater contract`: write a contract for a dataset, check contracts and policies, compare two contracts."""

import re
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from typer.core import TyperGroup

from headwater.cli.answer_source import open_answer_source
from headwater.cli.options import Data, Json, Key, Server, example_text
from headwater.cli.printing import CSV, list_table, print_value
from headwater.cli.question_commands import parameter_option
from headwater.cli.text_format import escape_unprintable
from headwater.common.counts import count_with_noun
from headwater.common.errors import WrongQuestion, WrongSetting
from headwater.governance.contracts.breaks import Break
from headwater.governance.contracts.changes import contract_changes, next_version
from headwater.governance.contracts.checking import (
    ObservedAnswers,
    check_contract,
    check_policies,
    contract_paths,
    policy_files,
    read_contract,
)
from headwater.governance.contracts.odcs import contract_document
from headwater.governance.contracts.reports import CheckedFile, break_line, junit_text, sarif_text
from headwater.governance.yaml_text import read_yaml, to_yaml
from headwater.questions.answer_types.contracts import ContractFacts
from headwater.questions.definitions.contracts import contract

_MAKE = "of"


class DatasetOrCommand(TyperGroup):
    """A command group that treats an unknown first word as the dataset to write a contract for."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the command `of` before an unknown first word."""
        is_known = not args or args[0] in self.commands or args[0] in ("--help", "-h")
        return super().parse_args(ctx, args if is_known else [_MAKE, *args])


app = typer.Typer(
    name="contract",
    cls=DatasetOrCommand,
    no_args_is_help=True,
    help="Data contracts: `headwater contract DATASET` writes one, `check` checks them, `diff` compares two.",
)

Against = Annotated[
    str, typer.Option("--against", help="State to use: now, a time (ISO 8601), or a run id for the state after it.")
]
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d|yesterday$|deploy$|(deploy|last_green|run):")
_BROKEN = ("file", "kind", "dataset", "column", "message", "run", "since", "job")
_CHANGED = ("breaking", "kind", "dataset", "column", "about", "before", "after")


@app.command(_MAKE, epilog=example_text("headwater", "contract", "silver/customers", "--out", "customers.yml"))
def make(
    dataset: Annotated[str, typer.Argument(help="Name of the dataset, an alias, or a unique end of its name.")],
    namespace: Annotated[str | None, parameter_option(contract, "namespace")] = None,
    against: Against = "now",
    out: Annotated[
        Path | None, typer.Option("--out", help="File to write. If it exists, its version is incremented.")
    ] = None,
    server: Server = None, key: Key = None, data: Data = None,
) -> None:  # fmt: skip
    """Write a contract from the observed state of a dataset, as YAML of the Open Data Contract Standard."""
    asked = {"dataset": dataset, "namespace": namespace or "", "against": _read_moment(against) or ""}
    with open_answer_source(server, key, data) as source:
        found = source.ask(contract, {name: value for name, value in asked.items() if value})
    document = contract_document(msgspec.convert(found, ContractFacts))
    if out is None:
        sys.stdout.write(to_yaml(document))
        return
    if out.exists():
        before = read_yaml(read_contract(out).text, str(out))
        document["version"] = next_version(before, document, str(out))
    write_file(out, to_yaml(document))
    sys.stdout.write(f"Wrote version {document['version']} to {out}\n")


@app.command(epilog=example_text("headwater", "contract", "check", "contracts/", "--junit", "contracts.xml"))
def check(
    files: Annotated[list[Path], typer.Argument(help="Contracts, or folders with contracts and policies.yml.")],
    against: Against = "now",
    policies: Annotated[
        Path | None, typer.Option("--policies", help="File of policies, in addition to those in the folders.")
    ] = None,
    junit: Annotated[Path | None, typer.Option("--junit", help="Write a JUnit XML report to this file.")] = None,
    sarif: Annotated[Path | None, typer.Option("--sarif", help="Write a SARIF 2.1.0 report to this file.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Treat warnings as errors.")] = False,
    server: Server = None, key: Key = None, data: Data = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Check schema, lineage, masking, owners and freshness against contracts. Exits with 1 if one is broken."""
    contracts = [read_contract(path) for path in contract_paths(files)]
    checked_policies = [*policy_files(files), *([policies] if policies else [])]
    if not contracts and not checked_policies:
        raise WrongSetting(
            "The given paths contain no contract. Create one with `headwater contract DATASET --out FILE`."
        )
    with open_answer_source(server, key, data) as source:
        observed = ObservedAnswers(source.ask, _read_moment(against))
        checked = [check_contract(each, observed) for each in contracts]
        checked += [check_policies(each, observed) for each in dict.fromkeys(checked_policies)]
    if junit:
        write_file(junit, junit_text(checked))
    if sarif:
        write_file(sarif, sarif_text(checked, version("headwater")))
    _print_breaks(checked, as_json)
    sys.exit(1 if any(each.broken_promises(strict=strict) for each in checked) else 0)


@app.command(epilog=example_text("headwater", "contract", "diff", "old.yml", "new.yml"))
def diff(
    before: Annotated[Path, typer.Argument(help="Old contract.")],
    after: Annotated[Path, typer.Argument(help="New contract.")],
    as_json: Json = False,
) -> None:
    """Compare two versions of a contract. Exits with 1 if the new one breaks a promise of the old one."""
    changes = contract_changes(read_contract(before).promises, read_contract(after).promises)
    items = [
        {"breaking": each.change.is_breaking, "dataset": each.dataset, **each.change._asdict()} for each in changes
    ]  # fmt: skip
    breaking = sum(each.change.is_breaking for each in changes)
    title = f"{breaking} breaking changes, {len(changes) - breaking} others"
    print_value(
        {"breaking": bool(breaking), "items": items}, as_json, lambda: list_table(title, {"items": items}, _CHANGED)
    )
    sys.exit(1 if breaking else 0)


def _read_moment(against: str) -> str | None:
    """Return the value of --against as a time parameter of the question, None for the present."""
    if against == "now":
        return None
    if against == "":
        raise WrongQuestion("--against is empty. Write now, a time (ISO 8601), or a run id.")
    return against if _MOMENT.match(against) else f"run:{against}"


def write_file(path: Path, text: str) -> None:
    """Write a text file in UTF-8. Raises WrongSetting if its folder does not exist or writing fails."""
    if not path.parent.is_dir():
        raise WrongSetting(
            f"Cannot write {path}: the folder {path.parent} does not exist. Create it, or choose another."
        )
    try:
        path.write_text(text, encoding="utf-8", errors="replace", newline="\n")
    except OSError as error:
        raise WrongSetting(f"Cannot write {path}: {error}. Choose another file.") from error


def _print_breaks(checked: Sequence[CheckedFile], as_json: bool) -> None:
    items = [{"file": each.path, **_break_item(found)} for each in checked for found in each.breaks]
    datasets, warnings = sum(each.promises for each in checked), sum(each["warning"] for each in items)
    if as_json:
        print_value({"checked": datasets, "broken": len(items) - warnings, "items": items}, True, lambda: None)
        return
    if CSV.get():
        print_value({"items": items}, False, lambda: list_table("Broken", {"items": items}, _BROKEN))
        return
    for each in checked:
        sys.stdout.write(
            "".join(f"{escape_unprintable(f'{each.path}: {break_line(found)}')}\n" for found in each.breaks)
        )
    more = f", {count_with_noun(warnings, 'warning')}" if warnings else ""
    found = f"{count_with_noun(datasets, 'dataset')} in {count_with_noun(len(checked), 'file')}"
    sys.stdout.write(f"Checked {found}: {count_with_noun(len(items) - warnings, 'break')}{more}\n")


def _break_item(found: Break) -> dict[str, Any]:
    by = found.responsible_run
    return {
        "kind": found.kind, "dataset": found.dataset, "display_name": found.display_name, "column": found.column,
        "message": found.message, "run": by.run,
        "warning": found.is_warning, "since": by.time,
        "job": by.job and {"namespace": by.job.namespace, "name": by.job.name},
    }  # fmt: skip
