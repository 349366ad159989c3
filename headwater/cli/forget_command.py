"""`headwater forget`: erase the data of a dataset, run or person."""

import sys
from typing import Annotated, Any

import typer

from headwater.cli.options import SETUP, Data, Json, example
from headwater.cli.printing import pairs, show
from headwater.common.errors import WrongSetting
from headwater.operations.settings import load_settings

app = typer.Typer()

_EXAMPLE = ("forget", "--namespace", "s3://lake", "--dataset", "landing/customers", "--dry-run")


@app.command(rich_help_panel=SETUP, epilog=example("headwater", *_EXAMPLE))
def forget(
    dataset: Annotated[str | None, typer.Option(help="Name of a dataset; requires --namespace.")] = None,
    namespace: Annotated[
        str | None, typer.Option(help="Namespace of the dataset. Without --dataset, erase the whole namespace.")
    ] = None,
    run: Annotated[str | None, typer.Option(help="Id of a run.")] = None,
    text: Annotated[str | None, typer.Option(help="Text of 4 characters or more, such as an e-mail address.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be erased, and change nothing.")] = False,
    stopped: Annotated[
        bool, typer.Option("--stopped", help="For a remote lake: confirm that you stopped all its writers.")
    ] = False,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Erase the data of a dataset, run or person from log, lake and index, and write a receipt. Stop Headwater first.

    Deletes every event that contains the data. Then searches all files, and exits with 1 if it still finds the data.
    """
    from headwater.operations.erasure.forget_targets import ForgetTarget, NameTarget, TextTarget
    from headwater.operations.erasure.one_request import Forgetting
    from headwater.operations.runtime.indexes import open_rules

    settings = load_settings({"data": data})[0]
    asked = [each is not None for each in (namespace, run, text)]
    if sum(asked) != 1 or (dataset and not namespace) or len(text or run or "long") < 4:
        raise WrongSetting(
            "Use exactly one of --namespace NAMESPACE [--dataset NAME], --run ID and --text TEXT; 4 characters or more."
        )
    wanted: ForgetTarget
    if namespace is not None:
        wanted = NameTarget(namespace, dataset, open_rules(settings).current().names.canonical)
    else:
        wanted = TextTarget("run" if run else "text", run or text or "")
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
