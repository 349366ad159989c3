"""Questions to a running Headwater, over HTTP; answers as JSON has them."""

import os
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any
from urllib.parse import quote

import httpx
import msgspec

from headwater.api.api_routes import BASE
from headwater.errors import HeadwaterError, Retry, ServerRefusal, WrongQuestion, WrongSetting
from headwater.questions.declaring import Question
from headwater.server_address import LOCAL, server_address
from headwater.sinks.connecting.kept_connection import trust

PATIENCE_S = 10.0
"""How long a server that says when to ask again is asked again."""

MAX_BYTES = 256 << 20
"""Largest answer, inflated: JSON of this size takes some 2 GB as Python has it."""

_TIMEOUT = httpx.Timeout(300.0, connect=10.0)
"""A question about the past may take minutes before its answer begins; after that each part has this time."""

_KEY = "Give it with --key or HEADWATER_KEY."


def asked_server(server: str | None) -> str | None:
    """Return the address that is asked where no data folder is named: the given one, else that of `HEADWATER_URL`."""
    return server or os.environ.get("HEADWATER_URL") or None


class ServerAnswers:
    """What answers in place of a data folder."""

    def __init__(
        self, url: str, key: str | None, say: Callable[[str], None] = lambda _: None, *,
        patience_s: float = PATIENCE_S, max_bytes: int = MAX_BYTES,
    ) -> None:  # fmt: skip
        """Ask nothing yet; raises WrongSetting for no address. say: is told why it takes longer."""
        own = {"user-agent": f"headwater/{version('headwater')}"} | ({"authorization": f"Bearer {key}"} if key else {})
        self.url, self._say, self._patience_s, self._max_bytes = server_address(url), say, patience_s, max_bytes
        try:
            self._client = httpx.Client(base_url=self.url, headers=own, timeout=_TIMEOUT, verify=trust())
        except (httpx.InvalidURL, ValueError) as error:  # a proxy of the environment, a key with odd letters
            raise WrongSetting(f"Cannot ask {url!r}: {error}. Write it like {LOCAL}.") from error

    def ask(self, question: Question, asked: Mapping[str, Any], **path: str) -> Any:
        """Return the answer; raises ServerRefusal with the server's own words, Retry where there is no answer.

        A server that is behind and says when to ask again is asked again for 10 s.
        """
        place = f"{BASE}/{question.path.format(**{name: quote(value, safe='') for name, value in path.items()})}"
        until, has_said = time.monotonic() + self._patience_s, False
        while True:
            answer, body = self._sent(question.method, place, asked)
            pause_s = _pause_s(answer) if question.method == "GET" else 0.0
            if not pause_s or time.monotonic() + pause_s > until:
                break
            if not has_said:
                self._say(f"{self.url} is behind, and is asked again for {self._patience_s:.0f} s at most.")
            has_said = True
            time.sleep(pause_s)
        if answer.status_code == 200:
            return self._read(answer, body)
        raise self._refused(question, answer, body)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def stream(self, place: str, headers: Mapping[str, str], silent_s: float) -> Any:
        """Return a context with the answer of a route whose answer has no end; silent_s: then it counts as broken."""
        timeout = httpx.Timeout(silent_s, connect=10.0)
        return self._client.stream("GET", f"{BASE}/{place}", headers=dict(headers), timeout=timeout)

    def version(self) -> str:
        """Return of which version the server is, as far as it says."""
        try:
            answer, body = self._sent("GET", "/openapi.json", {})
            return str(self._read(answer, body)["info"]["version"])
        except (HeadwaterError, KeyError, TypeError):
            return "another version"

    def misfit(self, question: Question, error: Exception) -> WrongSetting:
        """Return what is said of an answer that lacks what it should have."""
        return WrongSetting(
            f"{self.url} answers {question.name} in another form (it lacks {error}): it is {self.version()}, this "
            f"command is {version('headwater')}. Install its version, or take the answer with --json."
        )

    def refusal(self, question: Question, answer: httpx.Response) -> HeadwaterError:
        """Return why a stream was refused."""
        return self._refused(question, answer, answer.read())

    def no_answer(self, error: httpx.RequestError) -> Retry:
        """Return what is said where nothing answered, or not to its end."""
        said = str(error) or type(error).__name__
        if "CERTIFICATE_VERIFY_FAILED" in said:
            reason = said.rpartition("CERTIFICATE_VERIFY_FAILED]")[2].partition("(")[0].strip()
            return Retry(
                f"The certificate of {self.url} is not trusted: {reason}. If it is of a CA of your own, name its file "
                "in the variable SSL_CERT_FILE."
            )
        if "SSL" in said:
            return Retry(f"{self.url} speaks no TLS that is understood here: {said}. Is it http://, or another port?")
        if isinstance(error, httpx.TimeoutException):
            said = "it did not answer in time"
        return Retry(f"No answer from {self.url}: {said}. Start `headwater up` there, or name another with --server.")

    def _sent(self, method: str, place: str, asked: Mapping[str, Any]) -> tuple[httpx.Response, bytes]:
        body = bytearray()
        try:
            with self._client.stream(method, place, params=dict(asked)) as answer:
                for part in answer.iter_bytes():
                    body += part
                    if len(body) > self._max_bytes:
                        raise WrongQuestion(
                            f"{self.url} answers with more than {self._max_bytes >> 20} MiB. Ask for less: --limit."
                        )
        except httpx.RequestError as error:
            raise self.no_answer(error) from error
        return answer, bytes(body)

    def _read(self, answer: httpx.Response, body: bytes) -> Any:
        try:
            return msgspec.json.decode(body)
        except msgspec.DecodeError:
            raise self._stranger(answer) from None

    def _refused(self, question: Question, answer: httpx.Response, body: bytes) -> HeadwaterError:
        try:
            said = msgspec.json.decode(body, type=dict[str, Any])
            text = str(said["error"])
        except (msgspec.DecodeError, KeyError):
            return self._stranger(answer)
        if answer.status_code in (401, 403):
            said["fix"] = f"{said.get('fix') or ''} {_KEY}".strip()
            text += f" {said['fix']}"
        elif answer.status_code == 404 and "nearest" not in said:
            own = version("headwater")
            text = f"{self.url} has no question {question.name}: it is {self.version()}, this command is {own}."
            said |= {"error": text, "fix": "Install the server's version, or ask one of this."}
            text += f" {said['fix']}"
        return ServerRefusal(text, said)

    def _stranger(self, answer: httpx.Response) -> WrongSetting:
        if answer.is_redirect:
            there = answer.headers.get("location", "nowhere")[:200]
            return WrongSetting(
                f"{self.url} sends on to {there!r}. Name that with --server if you trust it with a key."
            )
        kind = answer.headers.get("content-type", "without a type").partition(";")[0]
        return WrongSetting(
            f"What answers at {self.url} is no Headwater: status {answer.status_code}, {kind}. Name the address of "
            "`headwater up`; a proxy or a sign-in page may stand before it."
        )


def _pause_s(answer: httpx.Response) -> float:
    """Return after how many seconds to ask again, 0 where the server does not say."""
    said = answer.headers.get("retry-after", "")
    return max(float(said), 0.1) if answer.status_code == 503 and said.isascii() and said.isdigit() else 0.0
