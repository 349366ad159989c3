"""`headwater keys`: who may post and ask. Headwater may run meanwhile, and takes up what changes within a second."""

from typing import Any

import typer

from headwater.api import identity_routes
from headwater.cli.printing import Given, listed, pairs, show
from headwater.cli.question_commands import command

app = typer.Typer(name="keys", help="Keys of producers and readers: make, list, assign, revoke.", no_args_is_help=True)

_SHOWN = ("id", "name", "owner", "roles", "namespaces", "made", "expires", "last_used", "kept")


def _made(found: Any, as_json: bool, _: Given) -> None:
    show(found, as_json, lambda: pairs("Write `key` down: nobody can show it again", found))


command(app, identity_routes.add_key, _made)
command(app, identity_routes.keys, listed("Keys", _SHOWN))
command(app, identity_routes.revoke_key, listed("Revoked", _SHOWN))
command(app, identity_routes.assign_key, listed("Assigned", (*_SHOWN, "owner_issuer", "owner_subject")))
