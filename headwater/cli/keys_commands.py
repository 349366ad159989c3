"""`headwater keys`: manage the keys of producers and readers. A running Headwater applies changes within a second."""

from typing import Any

import typer

from headwater.api import identity_routes
from headwater.cli.printing import Arguments, listed, pairs, show
from headwater.cli.question_commands import command

app = typer.Typer(
    name="keys", help="Keys of producers and readers: create, list, assign, revoke.", no_args_is_help=True
)

_SHOWN = ("id", "name", "owner", "roles", "namespaces", "made", "expires", "last_used", "kept")


def _made(found: Any, as_json: bool, _: Arguments) -> None:
    show(found, as_json, lambda: pairs("Save `key` now: it cannot be shown again", found))


command(app, identity_routes.add_key, _made)
command(app, identity_routes.keys, listed("Keys", _SHOWN))
command(app, identity_routes.revoke_key, listed("Revoked", _SHOWN))
command(app, identity_routes.assign_key, listed("Assigned", (*_SHOWN, "owner_issuer", "owner_subject")))
