"""Formats of secrets from `corpus.txt`, each put together at load time and put in its place of an event."""

import base64
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits
from typing import Any

from headwater.events.redaction import redact, suspicious
from tests.planted import event, in_error, in_property, in_source, in_source_code, in_sql, in_variable

_SECRET = re.compile("«([^»]*)»")
_GENERATED = re.compile(r"%([a-zA-Z])(\d+)")
_CLASSES = {
    "a": ascii_letters + digits,
    "b": ascii_letters + digits + "+/",
    "d": digits,
    "h": "0123456789abcdef",
    "l": ascii_lowercase + digits,
    "n": ascii_letters,
    "u": ascii_uppercase + "234567",
    "w": ascii_letters + digits + "-_",
}


@dataclass(frozen=True, slots=True)
class Format:
    """One format of a secret: what an event looks like that holds it."""

    name: str
    kind: str
    text: str
    secret: str
    place: str

    @property
    def event(self) -> Any:
        """Return the event; a text where the place is a request's header."""
        return _PLACES[self.place](self.text)

    @property
    def set_aside(self) -> bool:
        """Tell whether no rule was made with a look at it: half of the formats, by their hash."""
        return hashlib.sha256(self.name.encode()).digest()[0] % 2 == 1

    @property
    def survives(self) -> bool:
        """Tell whether the secret is still there behind the search for suspicious events and the rules."""
        text = json.dumps(self.event)
        seen = self.place == "useragent" or suspicious([text.encode()])[0]
        return json.dumps(self.secret)[1:-1] in (json.dumps(redact(self.event)) if seen else text)


def load_formats() -> list[Format]:
    """Return all formats, in the order of the file; names are its lines."""
    lines = (Path(__file__).parent / "corpus.txt").read_text(encoding="utf-8").splitlines()
    return [_made(line) for line in lines if line and not line.startswith("#")]


def _made(line: str) -> Format:
    kind, place, pattern = line.split("|", 2)
    chance = Random(line)
    spelled = pattern.replace("⏎", "\n").replace("⇥", "\t").replace("‖", "")
    secret = _SECRET.search(spelled)
    assert secret, line
    made = "".join(_part(part, chance) for part in secret[1].split("+") if part)
    return Format(line, kind, spelled[: secret.start()] + made + spelled[secret.end() :], made, place)


def _part(part: str, chance: Random) -> str:
    if part == "s":
        return f"pLanted7{chance.randrange(1000)}x9Qz"
    if part == "basic":
        return base64.b64encode(f"etl:pLanted7{chance.randrange(1000)}".encode()).decode()
    return _GENERATED.sub(lambda found: "".join(chance.choices(_CLASSES[found[1]], k=int(found[2]))), part)


def _named(text: str) -> tuple[str, str]:
    name, _, value = text.partition("|")
    return value, name


def _in_job_name(text: str) -> dict[str, Any]:
    made = event()
    made["job"]["name"] = text
    return made


_PLACES: dict[str, Callable[[str], Any]] = {
    "text": in_property,
    "uri": in_source,
    "sql": in_sql,
    "code": in_source_code,
    "error": in_error,
    "property": lambda text: in_property(*_named(text)),
    "variable": lambda text: in_variable(*_named(text)),
    "args": lambda text: event(run={"custom": {"args": text.split(" ")}}),
    "key": lambda text: event(run={"custom": {text: 1}}),
    "name": lambda text: event(inputs=[{"namespace": "db", "name": text}]),
    "namespace": lambda text: event(inputs=[{"namespace": text, "name": "t"}]),
    "job": _in_job_name,
    "useragent": str,
}
