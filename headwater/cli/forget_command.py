"""`headwater forget`."""

import sys
from typing import Annotated, Any

import typer

from headwater.cli.options import BUILD, Data, Json, example
from headwater.cli.printing import pairs, show
from headwater.errors import WrongSetting
from headwater.settings import load_settings

app = typer.Typer()

_EXAMPLE = ("forget", "--namespace", "s3://lake", "--dataset", "landing/customers", "--dry-run")


@app.command(rich_help_panel=BUILD, epilog=example("headwater", *_EXAMPLE))
def forget(
    dataset: Annotated[str | None, typer.Option(help="Name of a dataset; with --namespace.")] = None,
    namespace: Annotated[str | None, typer.Option(help="Its namespace; alone, all that names the namespace.")] = None,
    run: Annotated[str | None, typer.Option(help="Id of a run.")] = None,
    text: Annotated[str | None, typer.Option(help="A text of 4 characters or more, such as an e-mail address.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go, and change nothing.")] = False,
    stopped: Annotated[
        bool, typer.Option("--stopped", help="Of a lake at an address: all that writes to it has been stopped.")
    ] = False,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Erase a dataset's or a person's data from log, lake and index, with a receipt. Stop Headwater first.

    An event goes as a whole. Status 1 if the search afterwards finds something that is left.
    """
    from headwater.local.forgetting.one_request import Forgetting
    from headwater.local.forgetting.wanted import Wanted, WantedName, WantedText
    from headwater.runtime.indexes import open_rules

    settings = load_settings({"data": data})[0]
    asked = [each is not None for each in (namespace, run, text)]
    if sum(asked) != 1 or (dataset and not namespace) or len(text or run or "long") < 4:
        raise WrongSetting(
            "Name one thing: --namespace NAMESPACE [--dataset NAME], --run ID or --text TEXT of 4 characters or more."
        )
    wanted: Wanted
    if namespace is not None:
        wanted = WantedName(namespace, dataset, open_rules(settings).current().names.canonical)
    else:
        wanted = WantedText("run" if run else "text", run or text or "")
    forgetting = Forgetting(settings, wanted)
    found = forgetting.dry_run() if dry_run else forgetting.forget(stopped=stopped)
    show(found, as_json, lambda: pairs("Would be forgotten" if dry_run else "Forgotten", _shown(found)))
    sys.exit(1 if found.get("proof", {}).get("found") else 0)


def _shown(found: dict[str, Any]) -> dict[str, Any]:
    counts = {name: count for name, count in found["found"].items() if count} or {"nothing": "was found"}
    if proof := found.get("proof"):
        counts |= {"receipt": found["id"], "by": found["by"], "left in": f"{proof['found']} of {proof['files']} files"}
        counts |= {"such as": "\n".join(proof["in"])} if proof["found"] else {}
    return {**counts, "not reached": "; ".join(found["left"])}
