"""Values of the rules as text in flat columns, and back; a text that comes again is read once."""

import hashlib
from collections.abc import Iterable
from typing import Generic, TypeVar

import msgspec

from headwater.events.facets import Memo
from headwater.lineage.edges import Contribution
from headwater.lineage.name import Name
from headwater.lineage.outcome import Reported
from headwater.lineage.part import Part

T = TypeVar("T")


class Reading(Generic[T]):
    """Decodes one kind of text; recurring texts cost a look-up."""

    def __init__(self, kind: type[T]):
        """Remember nothing yet."""
        self._decoder = msgspec.json.Decoder(kind)
        self._memo: Memo[T] = Memo()

    def __call__(self, text: str) -> T:
        """Return the value; it is shared, so nobody may change it."""
        raw = text.encode()
        return self._memo.get(raw) or self._memo.put(raw, self._decoder.decode(raw))


_parts = msgspec.json.Decoder(list[Part])
_encoder = msgspec.json.Encoder()


def parts_text(parts: Iterable[Part]) -> str:
    """Return parts as text."""
    return _encoder.encode(list(parts)).decode()


def read_parts(text: str) -> list[Part]:
    """Return the parts of a text."""
    return _parts.decode(text)


def text_of(value: object) -> str:
    """Return any value of the rules as JSON."""
    return _encoder.encode(value).decode()


def key_of(*parts: str | None) -> str:
    """Return a short key for what several texts name together."""
    return digest_of(parts)


def digest_of(value: object) -> str:
    """Return a short digest of any value of the rules."""
    return hashlib.sha256(_encoder.encode(value)).hexdigest()[:32]


read_said = Reading(list[tuple[str, str, str, str]])
read_names = Reading(list[Name])
read_reported = Reading(Reported)
read_contribution = Reading(Contribution)
