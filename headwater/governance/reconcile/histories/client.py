"""HTTP client for job histories: it sends a token, reads JSON, retries if throttled, and limits size and pages."""

import base64
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx

from headwater.common.errors import Retry, WrongSetting

_TIMEOUT_S = 60.0
_MAX_TRIES = 5
_LONGEST_WAIT_S = 60.0
_MAX_BYTES = 64 << 20
MAX_PAGES = 10_000
"""Maximum number of pages to request, in case a server returns the same pages again and again."""

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class HistoryApi:
    """A client for one server; use it as a context manager."""

    def __init__(self, address: str, token: str | None, variable: str) -> None:
        """token: a token, `user:password`, or None. variable: name of its environment variable, for error messages.

        Raises WrongSetting if the address is invalid, or the token would be sent without encryption.
        """
        url = urlsplit(address)
        if url.scheme not in ("http", "https") or not url.hostname or url.username:
            raise WrongSetting(
                f"{address!r} is not a valid address. Write it like https://host:18080, without a password."
            )
        if token and url.scheme != "https" and url.hostname not in _LOOPBACK:
            raise WrongSetting(f"{address} is not an https:// address, so the token would be readable. Use https.")
        self.address = address.rstrip("/")
        self._variable = variable
        headers = {"accept": "application/json"} | ({"authorization": _authorization(token)} if token else {})
        self._client = httpx.Client(headers=headers, timeout=_TIMEOUT_S)

    def __enter__(self) -> "HistoryApi":
        """Return the client."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connection."""
        self._client.close()

    def get_document(self, path: str, asked: Mapping[str, str | int]) -> Any:
        """Request a path with query parameters (`asked`), and return the JSON document, or None for status 404.

        Raises WrongSetting if the request can never succeed, and Retry if it may succeed later.
        """
        for attempt in range(1, _MAX_TRIES + 1):
            answer = self._request(path, asked)
            if answer.status_code not in (429, 502, 503, 504):
                return self._decode_answer(answer, path)
            if attempt < _MAX_TRIES:
                time.sleep(_wait_s(answer, attempt))
        raise Retry(
            f"{self.address}{path} returned {answer.status_code} {_MAX_TRIES} times. Run the command again later."
        )

    def _request(self, path: str, asked: Mapping[str, str | int]) -> httpx.Response:
        try:
            with self._client.stream("GET", self.address + path, params=dict(asked)) as answer:
                body = bytearray()
                for chunk in answer.iter_bytes():
                    body += chunk
                    if len(body) > _MAX_BYTES:
                        raise WrongSetting(
                            f"{self.address}{path} returned more than {_MAX_BYTES >> 20} MB. Use a shorter period."
                        )
                return httpx.Response(answer.status_code, headers=_selected_headers(answer), content=bytes(body))
        except httpx.TransportError as error:
            raise Retry(
                f"{self.address} did not answer ({type(error).__name__}). Check the address and the network."
            ) from error

    def _decode_answer(self, answer: httpx.Response, path: str) -> Any:
        if answer.status_code == 404:
            return None
        if answer.status_code in (401, 403):
            raise WrongSetting(
                f"{self.address} returned {answer.status_code}. Set {self._variable} to a token that can read history."
            )
        if answer.status_code != 200:
            raise WrongSetting(f"{self.address}{path} returned {answer.status_code}. Check the address.")
        try:
            return answer.json()
        except ValueError as error:
            raise WrongSetting(f"{self.address}{path} did not return JSON. Check the address.") from error


def _authorization(token: str) -> str:
    if ":" in token:
        return f"Basic {base64.b64encode(token.encode()).decode()}"
    return f"Bearer {token}"


def _selected_headers(answer: httpx.Response) -> dict[str, str]:
    return {name: answer.headers[name] for name in ("retry-after",) if name in answer.headers}


def _wait_s(answer: httpx.Response, attempt: int) -> float:
    """Return the seconds until the next attempt: from the header `Retry-After`, otherwise growing with each attempt."""
    asked = answer.headers.get("retry-after", "")
    return min(float(asked) if asked.isdigit() else 2.0**attempt, _LONGEST_WAIT_S)
