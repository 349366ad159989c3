"""An OIDC issuer on this machine with real HTTP, real keys, the authorization code flow with PKCE, and faults."""

import base64
import hashlib
import json
import threading
import time
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

AUDIENCE = "api://headwater"
CLIENT = "dashboard"
CLIENT_SECRET = "very-secret-of-a-principal"


class SigningKey:
    """A key of the issuer.

    kind: RS256 or ES256. changes: replaces members of the published key; None removes a member.
    """

    def __init__(self, kid: str, kind: str = "RS256", bits: int = 2048) -> None:
        self.kid, self.kind = kid, kind
        self.changes: dict[str, Any] = {}
        self.private: Any = (
            rsa.generate_private_key(65537, bits) if kind == "RS256" else ec.generate_private_key(ec.SECP256R1())
        )

    def public(self) -> dict[str, Any]:
        algorithm: Any = RSAAlgorithm if self.kind == "RS256" else ECAlgorithm
        found: dict[str, Any] = json.loads(algorithm.to_jwk(self.private.public_key()))
        found |= {"kid": self.kid, "use": "sig", "alg": self.kind, **self.changes}
        return {name: value for name, value in found.items() if value is not None}


@cache
def _first_key() -> SigningKey:
    """Return the first key of each issuer, cached because creating a key takes a tenth of a second."""
    return SigningKey("first")


class OidcServer:
    """An issuer that listens until its `with` block ends.

    `keys`: the published keys. `claims`: additional claims in tokens of people. `is_down`: answer with 503. `asked`:
    requested paths. `said`: replaces members of the discovery document. `lives_s`: lifetime of application tokens.
    `given`: clients that received an application token, newest last. `cookies`: cookies that clients sent back.
    """

    def __init__(self) -> None:
        self.keys = [_first_key()]
        self.claims: dict[str, Any] = {}
        self.is_down = False
        self.asked: list[str] = []
        self.said: dict[str, Any] = {}
        self.lives_s = 3600
        self.given: list[str] = []
        self.cookies: list[str] = []
        self._codes: dict[str, dict[str, str]] = {}
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer._get(self)

            def do_POST(self) -> None:
                outer._post(self)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "OidcServer":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def token(self, key: SigningKey | None = None, **claims: Any) -> str:
        """Return a token for our audience, issued now. A claim of None is omitted."""
        key, now = key or self.keys[-1], int(time.time())
        said = {"iss": self.url, "aud": AUDIENCE, "sub": "s", "iat": now, "nbf": now, "exp": now + 300, **claims}
        said = {name: value for name, value in said.items() if value is not None}
        return jwt.encode(said, key.private, algorithm=key.kind, headers={"kid": key.kid})

    def _get(self, handler: BaseHTTPRequestHandler) -> None:
        parts = urlsplit(handler.path)
        self.asked.append(parts.path)
        self.cookies += handler.headers.get_all("cookie", [])
        if self.is_down:
            _answer(handler, 503, {})
        elif parts.path == "/.well-known/openid-configuration":
            named = {"jwks_uri": "/keys", "authorization_endpoint": "/authorize", "token_endpoint": "/token"}
            _answer(handler, 200, {"issuer": self.url, **{k: self.url + v for k, v in named.items()}, **self.said})
        elif parts.path == "/keys":
            _answer(handler, 200, {"keys": [key.public() for key in self.keys]})
        elif parts.path == "/identity":
            asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
            token = self._application_token(asked.get("client_id", "own"), asked["resource"])
            _answer(handler, 200, {**token, "expires_on": str(int(time.time()) + self.lives_s)})
        elif parts.path == "/authorize":
            asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
            code = f"code-{len(self._codes)}"
            self._codes[code] = asked
            handler.send_response(302)
            back = urlencode({"code": code, "state": asked["state"]})
            handler.send_header("location", f"{asked['redirect_uri']}?{back}")
            handler.end_headers()
        else:
            _answer(handler, 404, {})

    def _post(self, handler: BaseHTTPRequestHandler) -> None:
        self.asked.append(handler.path)
        self.cookies += handler.headers.get_all("cookie", [])
        body = handler.rfile.read(int(handler.headers["content-length"])).decode()
        sent = {name: values[0] for name, values in parse_qs(body).items()}
        if self.is_down:
            return _answer(handler, 503, {})
        if sent.get("grant_type") == "client_credentials":
            return self._client_credentials(handler, sent)
        begun = self._codes.pop(sent.get("code", ""), None)
        digest = hashlib.sha256(sent.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        is_good = begun is not None and begun["code_challenge_method"] == "S256"
        if not is_good or begun is None or begun["code_challenge"] != challenge:
            _answer(handler, 400, {"error": "invalid_grant"})
        elif any(begun[name] != sent.get(name) for name in ("redirect_uri", "client_id")):
            _answer(handler, 400, {"error": "invalid_client"})
        else:
            said = {"aud": CLIENT, "nonce": begun["nonce"], **self.claims}
            _answer(handler, 200, {"id_token": self.token(**said), "token_type": "Bearer"})
        return None

    def _client_credentials(self, handler: BaseHTTPRequestHandler, sent: dict[str, str]) -> None:
        """Give a token to a service principal, which sends its secret in the body or with basic authentication (RFC
        6749).
        """
        said = handler.headers["authorization"] or ""
        client, _, secret = base64.b64decode(said.removeprefix("Basic ")).decode().partition(":")
        client, secret = sent.get("client_id", client), sent.get("client_secret", secret)
        if secret != CLIENT_SECRET:
            return _answer(handler, 401, {"error": "invalid_client"})
        return _answer(handler, 200, self._application_token(client, sent["scope"].removesuffix("/.default")))

    def _application_token(self, client: str, audience: str) -> dict[str, Any]:
        """Return a token for the requested audience, as Entra ID does: it does not check whether the client has a role
        there.
        """
        self.given.append(client)
        token = self.token(sub=client, aud=audience, exp=int(time.time()) + self.lives_s)
        return {"access_token": token, "token_type": "Bearer", "expires_in": self.lives_s, "resource": audience}


def _answer(handler: BaseHTTPRequestHandler, status: int, value: object) -> None:
    body = json.dumps(value).encode()
    handler.send_response(status)
    handler.send_header("set-cookie", "who=somebody; Path=/")
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)
