"""Who may ask and post: keys of the settings, the file of keys, an issuer; and the log of who changed what."""

import getpass
import logging
import secrets
import socket
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.access import Caller
from headwater.errors import HeadwaterError
from headwater.identity.callers import Access
from headwater.identity.key_file import KeyFile
from headwater.identity.private_text import PrivateText
from headwater.identity.sessions import Sessions
from headwater.runtime.storage import lake_place
from headwater.settings import Settings, keys_path

if TYPE_CHECKING:
    from headwater.api.acts import Recorder
    from headwater.identity.oidc_sign_in import SignIn
    from headwater.identity.oidc_tokens import TokenCheck
    from headwater.lake.admin_log import Actor, AdminRecorder, Outcome

log = logging.getLogger(__name__)


def open_access(settings: Settings, folder: Path) -> Access:
    """Return what finds callers; folder: of this machine's own data."""
    if any(key.key for key in settings.keys):
        log.warning("Keys stand in clear in the settings. `headwater keys add` keeps hashes; see docs/settings.md.")
    tokens = open_tokens(settings) if settings.oidc_issuer else None
    return Access(settings.keys, open_key_file(settings), tokens, open_sessions(settings, folder) if tokens else None)


def open_key_file(settings: Settings) -> KeyFile:
    """Return the file of keys, there or not."""
    path = keys_path(settings)
    return KeyFile(PrivateText(path), PrivateText(path.with_name(f"{path.stem}_used.json")))


def open_tokens(settings: Settings) -> "TokenCheck":
    """Return what checks tokens of the issuer."""
    from headwater.identity.oidc_tokens import Issuer, TokenCheck

    audience = settings.oidc_audience or ((settings.oidc_client_id,) if settings.oidc_client_id else ())
    return TokenCheck(Issuer(str(settings.oidc_issuer), audience, settings.oidc_roles))


def open_sessions(settings: Settings, folder: Path) -> Sessions:
    """Return what seals sessions: by `session_key`, else by a secret of this folder, made once."""
    if settings.session_key:
        return Sessions(settings.session_key.get_secret_value().encode())
    place = PrivateText(folder / "identity" / "session.key")
    if not place.read():
        place.change(lambda text: text or secrets.token_urlsafe(48))
    return Sessions(str(place.read()).encode())


def open_sign_in(settings: Settings, access: Access) -> "SignIn | None":
    """Return what signs browsers in, None where the settings name no client."""
    if not settings.oidc_client_id or access.tokens is None or access.sessions is None:
        return None
    from headwater.identity.oidc_sign_in import Client, SignIn

    secret = settings.oidc_client_secret.get_secret_value() if settings.oidc_client_secret else None
    url = settings.oidc_redirect_url or f"http://localhost:{settings.port}/auth/callback"
    return SignIn(Client(settings.oidc_client_id, url, secret), access.tokens, access.sessions)


def open_recorder(settings: Settings) -> "Recorder":
    """Return what writes into the admin log."""
    opening = threading.Lock()
    opened: list[AdminRecorder] = []

    def record(actor: "Actor", action: str, subject: str, outcome: "Outcome", detail: str) -> None:
        from headwater.lake.admin_log import AdminRecorder, open_admin_log

        try:
            with opening:
                opened[:] = opened or [AdminRecorder(open_admin_log(*lake_place(settings)))]
            opened[0].record(actor, action, subject, outcome, detail)
        except HeadwaterError as error:
            log.critical("Not in the admin log: %s by %s, %s: %s", action, actor.who, outcome, error)

    return record


def local_caller() -> Caller:
    """Return who runs a command: whoever may write the data folder may do everything."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # a container's account may have no name
        name = "somebody"
    return Caller(f"{name}@{socket.gethostname()}", frozenset({"admin"}), kind="command")
