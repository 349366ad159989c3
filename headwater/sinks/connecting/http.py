"""HTTP targets: options, requests, and the classification of responses as delivered, to retry, or refused for good."""

import gzip
from collections.abc import Mapping

from pydantic import Field

from headwater.common.errors import Retry, WrongSetting
from headwater.common.http_connection import READ_BYTES, HttpAnswer, PersistentConnection, retry_after_s, ssl_context
from headwater.sinks.connecting.authentication import (
    Aws,
    EntraId,
    Headers,
    OAuth,
    OAuthToken,
    aws_auth_headers,
    google_auth_headers,
)
from headwater.sinks.connecting.secrets import entra_token_source
from headwater.sinks.interface.error_isolation import escape_control_characters
from headwater.sinks.interface.options import (
    BARE_ADDRESS,
    ConfigModel,
    Options,
    Seconds,
    SecretReference,
    SecretResolver,
    resolve_secrets,
)
from headwater.sinks.interface.shape import Outcome, retry_all

_RETRY_STATUSES = frozenset({401, 403, 404, 405, 407, 408, 421, 423, 425, 429, 502, 503, 504})
"""Statuses that are caused by credentials, the address or load, not by an event; such requests are retried."""


class Poster:
    """A connection to one target. The target's address comes only from the configuration, never from an event."""

    def __init__(self, url: str, headers: Headers, *, timeout_s: float, ca: str | None, compress: bool) -> None:
        """headers: returns the authentication headers of a request. timeout_s: timeout of one request in seconds.

        ca: path of a file with the certificates to trust, or None for the default certificates.
        compress: whether to send bodies as gzip.
        """
        self._headers = headers
        self._compress = compress
        self._url = url.rstrip("/")
        self._connection = PersistentConnection(self._url, timeout_s=timeout_s, context=ssl_context(ca))

    def post(self, path: str, body: bytes, count: int) -> HttpAnswer | Outcome:
        """Post one body that contains `count` payloads; returns a 2xx response, or the outcome of the failure."""
        try:
            answer = self.request("POST", path, body)
        except (Retry, WrongSetting) as error:
            return retry_all(count, str(error))
        if 200 <= answer.status < 300:
            return answer
        return failure_outcome(answer, count)

    def post_all(self, path: str, body: bytes, count: int) -> Outcome:
        """Post a body for which a 2xx status means that everything was delivered."""
        answer = self.post(path, body, count)
        return answer if isinstance(answer, Outcome) else Outcome()

    def request(self, method: str, path: str, body: bytes | None = None, max_bytes: int = READ_BYTES) -> HttpAnswer:
        """Make one request and read at most `max_bytes` bytes of the response; raises Retry if there is no response."""
        kind = {} if body is None else {"content-type": "application/json"}
        if body is not None and self._compress:
            kind["content-encoding"] = "gzip"
            body = gzip.compress(body, 1)
        headers = {**self._headers(method, self._url + path, body), **kind}
        return self._connection.request(method, path, body, headers, max_bytes)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def failure_outcome(answer: HttpAnswer, count: int) -> Outcome:
    """Return the outcome for `count` payloads when the target's response is not 2xx."""
    text = escape_control_characters(answer.body[:300].decode("utf-8", "replace").strip())
    reason = f"status {answer.status}" + (f": {text}" if text else "")
    if 300 <= answer.status < 400 and (where := answer.headers.get("location", "")):
        reason += (
            f". It redirects to {escape_control_characters(where[:300])}. Headwater does not follow redirects. "
            "If that is the target, correct `url` in sinks.yml, or the address of the replay."
        )
    if answer.status in _RETRY_STATUSES or 300 <= answer.status < 400:
        return retry_all(count, reason, after_s=retry_after_s(answer.headers))
    if answer.status < 500 and count == 1:
        return Outcome(refused={0: reason})
    return retry_all(count, reason, after_s=retry_after_s(answer.headers), blames_event=True)


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


def open_poster(options: Endpoint, reveal: SecretResolver, auth_headers: Headers = lambda *_: {}) -> Poster:
    """Create the connection to a target; raises WrongSetting if a secret is missing.

    auth_headers: returns headers of a request in addition to the authentication headers that `options` define.
    """
    headers = resolve_secrets(options.headers, reveal)
    if options.key:
        headers["authorization"] = f"Bearer {reveal(options.key)}"
    known = _auth_headers(options, headers, reveal)
    return Poster(
        options.url, lambda *request: {**known(*request), **auth_headers(*request)},
        timeout_s=options.timeout, ca=options.ca, compress=options.compress,
    )  # fmt: skip


def _auth_headers(options: Endpoint, headers: Mapping[str, str], reveal: SecretResolver) -> Headers:
    if options.oauth:
        token = OAuthToken(options.oauth, reveal(options.oauth.client_secret), options.timeout)
        return lambda *_: {**headers, "authorization": f"Bearer {token.current_token()}"}
    if entra := options.entra:
        ask = entra_token_source(entra.client_id)
        return lambda *_: {**headers, "authorization": f"Bearer {ask(entra.scope)}"}
    if options.aws or options.google:
        sign = aws_auth_headers(options.aws) if options.aws else google_auth_headers()
        return lambda *request: {**headers, **sign(*request)}
    return lambda *_: headers
