"""What every target over HTTP is told: where it is, and who we are there."""

import time
from collections.abc import Mapping
from contextlib import closing
from urllib.parse import urlencode

import msgspec
from pydantic import Field

from headwater.errors import WrongSetting
from headwater.sinks.connecting.cloud_signing import Aws, known_to_google, signed_for_aws
from headwater.sinks.connecting.http_post import Headers, Poster
from headwater.sinks.connecting.kept_connection import KeptConnection, trust
from headwater.sinks.connecting.sink_secrets import entra_token
from headwater.sinks.contract.sink_options import Options, Part, Reveal, Seconds, SecretReference, revealed

BARE_ADDRESS = r"^https?://[^/?#@\s]+(/[^?#@\s]*)?$"
"""Pattern of an address without credentials and without `?`."""
_HELD = 0.8
"""Part of a token's life for which it is used."""
_FORM = {"content-type": "application/x-www-form-urlencoded"}


class OAuth(Part):
    """Client credentials of OAuth 2 (RFC 6749, section 4.4)."""

    token_url: str = Field(pattern=BARE_ADDRESS)
    client_id: str
    client_secret: SecretReference
    scope: str | None = None


class EntraId(Part):
    """A token of Entra ID for the identity that this machine has."""

    scope: str
    client_id: str | None = None


class Endpoint(Part):
    """How to reach an HTTP endpoint and who we are there."""

    url: str = Field(pattern=BARE_ADDRESS, description="Address, without credentials and without `?`.")
    key: SecretReference | None = Field(None, description="Key that is sent as `Authorization: Bearer …`.")
    headers: dict[str, str | SecretReference] = Field({}, description="More headers, such as an API key's.")
    oauth: OAuth | None = Field(
        None, description="Client credentials: `token_url`, `client_id`, `client_secret`, `scope`."
    )
    entra: EntraId | None = Field(None, description="Token of Entra ID: `scope`, and `client_id` of an identity.")
    aws: Aws | None = Field(None, description="Signature of AWS: `region`, `service` (`datazone`), `profile`.")
    google: bool = Field(False, description="Token of Google, by its application default credentials.")
    timeout: Seconds = Field(30.0, description="Longest time of a request with its answer.")
    ca: str | None = Field(None, description="File of certificates to trust, instead of the public ones.")
    compress: bool = Field(False, description="Send bodies as gzip.")


class HttpOptions(Endpoint, Options):
    """Options of a sink whose target is an HTTP endpoint."""


def open_poster(options: Endpoint, reveal: Reveal, sign: Headers = lambda *_: {}) -> Poster:
    """Return the connection to a target; raises WrongSetting while a secret is missing.

    sign: returns further headers, which follow from what is sent.
    """
    headers = revealed(options.headers, reveal)
    if options.key:
        headers["authorization"] = f"Bearer {reveal(options.key)}"
    known = _identified(options, headers, reveal)
    return Poster(
        options.url, lambda *request: {**known(*request), **sign(*request)},
        timeout_s=options.timeout, ca=options.ca, compress=options.compress,
    )  # fmt: skip


def _identified(options: Endpoint, headers: Mapping[str, str], reveal: Reveal) -> Headers:
    if options.oauth:
        token = _OAuthToken(options.oauth, reveal(options.oauth.client_secret), options.timeout)
        return lambda *_: {**headers, "authorization": f"Bearer {token.value()}"}
    if entra := options.entra:
        ask = entra_token(entra.client_id)
        return lambda *_: {**headers, "authorization": f"Bearer {ask(entra.scope)}"}
    if options.aws or options.google:
        sign = signed_for_aws(options.aws) if options.aws else known_to_google()
        return lambda *request: {**headers, **sign(*request)}
    return lambda *_: headers


class _OAuthToken:
    """A token of client credentials, asked for anew before it ends."""

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
            self._until = time.monotonic() + _HELD * life_s
        return self._token

    def _ask(self) -> tuple[str, float]:
        where = self._oauth.token_url
        with closing(KeptConnection(where, timeout_s=self._timeout_s, context=trust())) as connection:
            answer = connection.ask("POST", "", urlencode(self._form).encode(), _FORM)
        try:
            said = msgspec.json.decode(answer.body)
            return str(said["access_token"]), float(said.get("expires_in", 300))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise WrongSetting(
                f"{where} gives no token, status {answer.status}. Correct `oauth`, or the client's rights."
            ) from None
