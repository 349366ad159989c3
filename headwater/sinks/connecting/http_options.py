"""Options of every HTTP target: its address, and how to authenticate."""

import time
from collections.abc import Mapping
from contextlib import closing
from urllib.parse import urlencode

import msgspec
from pydantic import Field

from headwater.common.errors import WrongSetting
from headwater.common.http_connection import PersistentConnection, ssl_context
from headwater.sinks.connecting.cloud_signing import Aws, aws_auth_headers, google_auth_headers
from headwater.sinks.connecting.http_post import Headers, Poster
from headwater.sinks.connecting.sink_secrets import entra_token
from headwater.sinks.contract.sink_options import (
    ConfigModel,
    Options,
    Seconds,
    SecretReference,
    SecretResolver,
    resolve_secrets,
)

BARE_ADDRESS = r"^https?://[^/?#@\s]+(/[^?#@\s]*)?$"
"""Pattern of an address without credentials and without `?`."""
_TOKEN_USE = 0.8
"""Fraction of a token's lifetime for which it is used."""
_FORM = {"content-type": "application/x-www-form-urlencoded"}


class OAuth(ConfigModel):
    """OAuth 2 client credentials (RFC 6749, section 4.4)."""

    token_url: str = Field(pattern=BARE_ADDRESS)
    client_id: str
    client_secret: SecretReference
    scope: str | None = None


class EntraId(ConfigModel):
    """A token of Entra ID for the identity of this machine."""

    scope: str
    client_id: str | None = None


class Endpoint(ConfigModel):
    """The address of an HTTP endpoint, and how to authenticate there."""

    url: str = Field(pattern=BARE_ADDRESS, description="Address, without credentials and without `?`.")
    key: SecretReference | None = Field(None, description="Key that is sent as `Authorization: Bearer …`.")
    headers: dict[str, str | SecretReference] = Field({}, description="Additional headers, such as an API key.")
    oauth: OAuth | None = Field(
        None, description="Client credentials: `token_url`, `client_id`, `client_secret`, `scope`."
    )
    entra: EntraId | None = Field(None, description="Token of Entra ID: `scope`, and `client_id` of an identity.")
    aws: Aws | None = Field(None, description="AWS signature: `region`, `service` (`datazone`), `profile`.")
    google: bool = Field(False, description="Token of Google's application default credentials.")
    timeout: Seconds = Field(30.0, description="Longest time of a request with its answer.")
    ca: str | None = Field(None, description="File of certificates to trust, instead of the public ones.")
    compress: bool = Field(False, description="Send bodies as gzip.")


class HttpOptions(Endpoint, Options):
    """Options of a sink whose target is an HTTP endpoint."""


def open_poster(options: Endpoint, reveal: SecretResolver, sign: Headers = lambda *_: {}) -> Poster:
    """Create the connection to a target; raises WrongSetting if a secret is missing.

    sign: returns additional headers that depend on the request.
    """
    headers = resolve_secrets(options.headers, reveal)
    if options.key:
        headers["authorization"] = f"Bearer {reveal(options.key)}"
    known = _auth_headers(options, headers, reveal)
    return Poster(
        options.url, lambda *request: {**known(*request), **sign(*request)},
        timeout_s=options.timeout, ca=options.ca, compress=options.compress,
    )  # fmt: skip


def _auth_headers(options: Endpoint, headers: Mapping[str, str], reveal: SecretResolver) -> Headers:
    if options.oauth:
        token = _OAuthToken(options.oauth, reveal(options.oauth.client_secret), options.timeout)
        return lambda *_: {**headers, "authorization": f"Bearer {token.value()}"}
    if entra := options.entra:
        ask = entra_token(entra.client_id)
        return lambda *_: {**headers, "authorization": f"Bearer {ask(entra.scope)}"}
    if options.aws or options.google:
        sign = aws_auth_headers(options.aws) if options.aws else google_auth_headers()
        return lambda *request: {**headers, **sign(*request)}
    return lambda *_: headers


class _OAuthToken:
    """A token for client credentials, requested again before it expires."""

    def __init__(self, oauth: OAuth, secret: str, timeout_s: float) -> None:
        self._oauth = oauth
        self._form = {"grant_type": "client_credentials", "client_id": oauth.client_id, "client_secret": secret}
        if oauth.scope:
            self._form["scope"] = oauth.scope
        self._timeout_s = timeout_s
        self._token, self._until = "", 0.0

    def value(self) -> str:
        if time.monotonic() >= self._until:
            self._token, life_s = self._ask()
            self._until = time.monotonic() + _TOKEN_USE * life_s
        return self._token

    def _ask(self) -> tuple[str, float]:
        where = self._oauth.token_url
        with closing(PersistentConnection(where, timeout_s=self._timeout_s, context=ssl_context())) as connection:
            answer = connection.ask("POST", "", urlencode(self._form).encode(), _FORM)
        try:
            fields = msgspec.json.decode(answer.body)
            return str(fields["access_token"]), float(fields.get("expires_in", 300))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise WrongSetting(
                f"{where} returned no token (status {answer.status}). Correct `oauth`, or the client's permissions."
            ) from None
