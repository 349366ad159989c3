"""What is to be forgotten, and how it is recognised in anything that is stored."""

from collections.abc import Callable, Iterator
from typing import Any, Protocol
from urllib.parse import quote

from headwater.errors import InvalidEvent
from headwater.events.decode import decode
from headwater.lineage.names.dataset_name import Name

_NAMESPACE = "namespace"
_NAMES = ("name", "dataset")


class Wanted(Protocol):
    """What is to be forgotten."""

    kind: str
    shown: str

    def in_value(self, value: Any) -> bool:
        """Tell whether a value says it, anywhere in it; texts that are JSON are looked into."""

    def in_bytes(self, raw: bytes) -> bool:
        """Tell whether bytes of a file say it as they are."""


class WantedText:
    """A text, such as a user name, an e-mail address or a run id: in any case, also as a URL writes it."""

    def __init__(self, kind: str, text: str) -> None:
        """kind: `text` or `run`."""
        self.kind, self.shown = kind, text
        self._forms = {text.casefold(), quote(text, safe="").casefold()}

    def in_value(self, value: Any) -> bool:
        """Tell whether any text of a value has it in it, names of members too."""
        return any(self._is_in(text) for text in _texts(value))

    def in_bytes(self, raw: bytes) -> bool:
        """Tell whether it is there as UTF-8."""
        return self._is_in(raw.decode("utf-8", "replace"))

    def _is_in(self, text: str) -> bool:
        folded = text.casefold()
        return any(form in folded for form in self._forms)


class WantedName:
    """A dataset by any of its names, or a namespace with all that is named in it."""

    def __init__(self, namespace: str, name: str | None, canonical: Callable[[str, str], Name]) -> None:
        """name: None for the namespace; canonical: the one name of the many ways to write a dataset's (rule 2)."""
        self.kind = "namespace" if name is None else "dataset"
        self.shown = namespace if name is None else f"{namespace} {name}"
        self._namespace, self._name, self._canonical = namespace, name, canonical
        self._one = canonical(namespace, name) if name is not None else None

    def in_value(self, value: Any) -> bool:
        """Tell whether a value has a member `namespace` and, of a dataset, `name` beside it; `job_namespace` is one."""
        return any(self._is_meant(here) for here in _objects(value))

    def in_bytes(self, raw: bytes) -> bool:
        """Tell whether a line of the bytes is JSON that says it."""
        return any(self.in_value(_json(line)) for line in raw.splitlines())

    def _is_meant(self, here: dict[str, Any]) -> bool:
        for key, namespace in here.items():
            if isinstance(namespace, str) and key.endswith(_NAMESPACE):
                if self._name is None and namespace == self._namespace:
                    return True
                names = [here.get(key.removesuffix(_NAMESPACE) + name) for name in _NAMES]
                if self._one and any(isinstance(name, str) and self._same(namespace, name) for name in names):
                    return True
        return False

    def _same(self, namespace: str, name: Any) -> bool:
        return (namespace, name) == (self._namespace, self._name) or self._canonical(namespace, name) == self._one


def value_of(body: bytes) -> Any:
    """Return what a body says, the text itself where it is no JSON."""
    try:
        return decode(body)
    except InvalidEvent:
        return body.decode("utf-8", "replace")


def _json(text: bytes | str) -> Any:
    """Return the value of a text that may be JSON with members, None of any other."""
    raw = text.encode("utf-8", "replace") if isinstance(text, str) else text
    if raw[:1] not in (b"{", b"["):
        return None
    try:
        return decode(raw)
    except InvalidEvent:
        return None


def _texts(value: Any) -> Iterator[str]:
    """Yield every text of a value. A text that is JSON is looked into where escapes may hide what it says."""
    for here in _parts(value):
        if isinstance(here, str):
            yield here
            if "\\" in here:
                yield from _texts(_json(here))
        elif isinstance(here, dict):
            yield from (key for key in here if isinstance(key, str))


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    for here in _parts(value):
        if isinstance(here, dict):
            yield here
        elif isinstance(here, str):
            yield from _objects(_json(here))


def _parts(value: Any) -> Iterator[Any]:
    """Yield a value and all that is in it, without recursion: producers nest as deep as they like."""
    waiting = [value]
    while waiting:
        here = waiting.pop()
        yield here
        if isinstance(here, dict):
            waiting += here.values()
        elif isinstance(here, list | tuple):
            waiting += here
