"""Authenticate at HTTP targets: OAuth 2, Entra ID, AWS signatures and Google tokens."""

import time
from collections.abc import Callable, Mapping
from contextlib import closing
from hashlib import sha256
from typing import Any
from urllib.parse import urlencode

import msgspec
from pydantic import Field

from headwater.common.errors import Retry, WrongSetting
from headwater.common.extras import require_extra
from headwater.common.http_connection import PersistentConnection, ssl_context
from headwater.sinks.interface.options import BARE_ADDRESS, ConfigModel, SecretReference

_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_TOKEN_USE = 0.8
"""Fraction of a token's lifetime for which it is used."""
_FORM = {"content-type": "application/x-www-form-urlencoded"}
Headers = Callable[[str, str, bytes | None], Mapping[str, str]]
"""Returns the authentication headers of a request with this method, address and body.

The caller calls it for each request, because tokens expire.
"""


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


class Aws(ConfigModel):
    """AWS Signature Version 4 with this machine's credentials: variables, profile or role."""

    region: str
    service: str = "datazone"
    profile: str | None = None


def aws_auth_headers(options: Aws) -> Headers:
    """Return a function that signs requests; raises WrongSetting if botocore is not installed.

    The header `client-token` is a hash of the body, so that DataZone ignores an event that is sent twice.
    """
    with require_extra("aws"):
        from botocore.auth import SigV4Auth  # noqa: PLC0415 - an extra
        from botocore.awsrequest import AWSRequest  # noqa: PLC0415 - an extra
        from botocore.exceptions import BotoCoreError  # noqa: PLC0415 - an extra
        from botocore.session import Session  # noqa: PLC0415 - an extra
    session = Session(profile=options.profile)

    def headers(method: str, url: str, body: bytes | None) -> dict[str, str]:
        token = {"client-token": sha256(body).hexdigest()} if body is not None else {}
        request = AWSRequest(method, url, headers=token, data=body or b"")
        try:
            credentials = session.get_credentials()  # the session caches them and renews them before they expire
            if credentials is None:
                raise WrongSetting(
                    "Found no AWS credentials. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile or a role."
                )
            SigV4Auth(credentials.get_frozen_credentials(), options.service, options.region).add_auth(request)
        except BotoCoreError as error:
            raise Retry(f"Could not sign a request for AWS: {error}") from error
        return {name.lower(): value for name, value in request.headers.items()}

    return headers


def google_auth_headers() -> Headers:
    """Return a function for tokens of Google's default credentials; raises WrongSetting if google-auth is missing."""
    with require_extra("google"):
        import google.auth  # noqa: PLC0415 - an extra
        from google.auth.exceptions import DefaultCredentialsError, GoogleAuthError  # noqa: PLC0415 - an extra
        from google.auth.transport.requests import Request  # noqa: PLC0415 - an extra
    found: list[Any] = []

    def headers(*_: object) -> dict[str, str]:
        token: dict[str, str] = {}
        try:
            if not found:
                found.append(google.auth.default(scopes=[_SCOPE])[0])
            found[0].before_request(Request(), "POST", "", token)  # requests a new token if the last one has expired
        except DefaultCredentialsError as error:
            raise WrongSetting(
                "Found no Google credentials. Set GOOGLE_APPLICATION_CREDENTIALS, or attach a service account."
            ) from error
        except GoogleAuthError as error:
            raise Retry(f"Google issued no token: {error}") from error
        return token

    return headers


class OAuthToken:
    """An access token for OAuth client credentials; a new token is requested before the old one expires."""

    def __init__(self, oauth: OAuth, secret: str, timeout_s: float) -> None:
        """timeout_s: timeout of one token request in seconds."""
        self._oauth = oauth
        self._form = {"grant_type": "client_credentials", "client_id": oauth.client_id, "client_secret": secret}
        if oauth.scope:
            self._form["scope"] = oauth.scope
        self._timeout_s = timeout_s
        self._token, self._until = "", 0.0

    def current_token(self) -> str:
        """Return the token, or a new one if it expires soon; raises WrongSetting if the server returns no token."""
        if time.monotonic() >= self._until:
            self._token, life_s = self._request_token()
            self._until = time.monotonic() + _TOKEN_USE * life_s
        return self._token

    def _request_token(self) -> tuple[str, float]:
        where = self._oauth.token_url
        with closing(PersistentConnection(where, timeout_s=self._timeout_s, context=ssl_context())) as connection:
            answer = connection.request("POST", "", urlencode(self._form).encode(), _FORM)
        try:
            fields = msgspec.json.decode(answer.body)
            return str(fields["access_token"]), float(fields.get("expires_in", 300))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise WrongSetting(
                f"{where} returned no token (status {answer.status}). Correct `oauth`, or the client's permissions."
            ) from None
