"""What readers of history ask over HTTP: JSON, with a token, patiently where they are throttled, and bounded."""

import base64
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx

from headwater.errors import Retry, WrongSetting

_TIMEOUT_S = 60.0
_TRIES = 5
_LONGEST_WAIT_S = 60.0
_LARGEST = 64 << 20
MOST_PAGES = 10_000
"""Of one answer: a server that repeats its pages ends there."""

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class HistoryApi:
    """One server; `with` closes the connection."""

    def __init__(self, address: str, token: str | None, variable: str) -> None:
        """Touch nothing yet. variable: where the token stands. Raises WrongSetting where none may be sent there."""
        url = urlsplit(address)
        if url.scheme not in ("http", "https") or not url.hostname or url.username:
            raise WrongSetting(f"{address!r} is no address. Write it like https://host:18080, without a password.")
        if token and url.scheme != "https" and url.hostname not in _LOOPBACK:
            raise WrongSetting(f"{address} is no https address: no token is sent there.")
        self.address = address.rstrip("/")
        self._variable = variable
        headers = {"accept": "application/json"} | ({"authorization": _authorization(token)} if token else {})
        self._client = httpx.Client(headers=headers, timeout=_TIMEOUT_S)

    def __enter__(self) -> "HistoryApi":
        """Return it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connection."""
        self._client.close()

    def get(self, path: str, asked: Mapping[str, str | int]) -> Any:
        """Return a document; None where there is none (404).

        Raises WrongSetting where it can never succeed, Retry where the same may succeed later.
        """
        for turn in range(1, _TRIES + 1):
            answer = self._ask(path, asked)
            if answer.status_code not in (429, 502, 503, 504):
                return self._read(answer, path)
            if turn < _TRIES:
                time.sleep(_wait_s(answer, turn))
        raise Retry(f"{self.address}{path} answered {answer.status_code} {_TRIES} times. Run it again later.")

    def _ask(self, path: str, asked: Mapping[str, str | int]) -> httpx.Response:
        try:
            with self._client.stream("GET", self.address + path, params=dict(asked)) as answer:
                body = bytearray()
                for chunk in answer.iter_bytes():
                    body += chunk
                    if len(body) > _LARGEST:
                        raise WrongSetting(
                            f"{self.address}{path} answers more than {_LARGEST >> 20} MB. Look back less."
                        )
                return httpx.Response(answer.status_code, headers=_kept(answer), content=bytes(body))
        except httpx.TransportError as error:
            raise Retry(
                f"No answer from {self.address} ({type(error).__name__}). Check address and network."
            ) from error

    def _read(self, answer: httpx.Response, path: str) -> Any:
        if answer.status_code == 404:
            return None
        if answer.status_code in (401, 403):
            raise WrongSetting(
                f"{self.address} answers {answer.status_code}. Put a token that may read history into {self._variable}."
            )
        if answer.status_code != 200:
            raise WrongSetting(f"{self.address}{path} answers {answer.status_code}. Check the address.")
        try:
            return answer.json()
        except ValueError as error:
            raise WrongSetting(f"{self.address}{path} answers no JSON. Check the address.") from error


def _authorization(token: str) -> str:
    if ":" in token:
        return f"Basic {base64.b64encode(token.encode()).decode()}"
    return f"Bearer {token}"


def _kept(answer: httpx.Response) -> dict[str, str]:
    return {name: answer.headers[name] for name in ("retry-after",) if name in answer.headers}


def _wait_s(answer: httpx.Response, turn: int) -> float:
    """Return what the server asks for, in seconds; else ever longer."""
    asked = answer.headers.get("retry-after", "")
    return min(float(asked) if asked.isdigit() else 2.0**turn, _LONGEST_WAIT_S)
