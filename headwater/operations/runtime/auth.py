"""Authentication from settings, the key file and the token issuer; and the log of administrative changes."""

import getpass
import logging
import secrets
import socket
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.auth.access import Caller
from headwater.auth.authentication import Authenticator
from headwater.auth.keys import KeyFile
from headwater.auth.private_file import PrivateFile
from headwater.auth.sessions import Sessions
from headwater.common.errors import HeadwaterError
from headwater.operations.runtime.storage import lake_root_and_options
from headwater.operations.settings import Settings, keys_path

if TYPE_CHECKING:
    from headwater.api.responses import Recorder
    from headwater.auth.oidc import SignIn, TokenVerifier
    from headwater.lake.admin_log import Actor, AdminRecorder, Outcome


log = logging.getLogger(__name__)


def open_authenticator(settings: Settings, folder: Path) -> Authenticator:
    """Return the object that authenticates callers; folder: this machine's data folder."""
    if any(key.key for key in settings.keys):
        log.warning(
            "The settings contain plain-text keys. `headwater keys add` stores hashes; see docs/reference/settings.md."
        )
    tokens = open_token_verifier(settings) if settings.oidc_issuer else None
    return Authenticator(
        settings.keys, open_key_file(settings), tokens, open_sessions(settings, folder) if tokens else None
    )


def open_key_file(settings: Settings) -> KeyFile:
    """Return the key file, whether or not it exists."""
    path = keys_path(settings)
    return KeyFile(PrivateFile(path), PrivateFile(path.with_name(f"{path.stem}_used.json")))


def open_token_verifier(settings: Settings) -> "TokenVerifier":
    """Return the object that validates tokens of the issuer."""
    from headwater.auth.oidc import Issuer, TokenVerifier

    audience = settings.oidc_audience or ((settings.oidc_client_id,) if settings.oidc_client_id else ())
    return TokenVerifier(Issuer(str(settings.oidc_issuer), audience, settings.oidc_roles))


def open_sessions(settings: Settings, folder: Path) -> Sessions:
    """Return the object that seals sessions, with the setting `session_key` or, by default, a secret in this folder."""
    if settings.session_key:
        return Sessions(settings.session_key.get_secret_value().encode())
    place = PrivateFile(folder / "identity" / "session.key")
    if not place.read():
        place.change(lambda text: text or secrets.token_urlsafe(48))
    return Sessions(str(place.read()).encode())


def open_sign_in(settings: Settings, access: Authenticator) -> "SignIn | None":
    """Return the sign-in for browsers, None if the settings have no `oidc_client_id`."""
    if not settings.oidc_client_id or access.tokens is None or access.sessions is None:
        return None
    from headwater.auth.oidc import OidcClient, SignIn

    secret = settings.oidc_client_secret.get_secret_value() if settings.oidc_client_secret else None
    url = settings.oidc_redirect_url or f"http://localhost:{settings.port}/auth/callback"
    return SignIn(OidcClient(settings.oidc_client_id, url, secret), access.tokens, access.sessions)


def open_admin_recorder(settings: Settings) -> "Recorder":
    """Return a function that writes to the admin log."""
    opening = threading.Lock()
    opened: list[AdminRecorder] = []

    def record_admin_act(actor: "Actor", action: str, subject: str, outcome: "Outcome", detail: str) -> None:
        from headwater.lake.admin_log import AdminRecorder, open_admin_log

        try:
            with opening:
                opened[:] = opened or [AdminRecorder(open_admin_log(*lake_root_and_options(settings)))]
            opened[0].record(actor, action, subject, outcome, detail)
        except HeadwaterError as error:
            log.critical("Could not write to the admin log: %s by %s, %s: %s", action, actor.who, outcome, error)

    return record_admin_act


def local_caller() -> Caller:
    """Return the account that runs a command as a caller with all roles, because it can write to the data folder."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # the account of a container may have no name
        name = "somebody"
    return Caller(f"{name}@{socket.gethostname()}", frozenset({"admin"}), kind="command")
