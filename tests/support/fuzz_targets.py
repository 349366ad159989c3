"""Fuzz targets: each passes bytes to a function that reads untrusted input, and raises if a promise is broken."""

from collections.abc import Callable

from headwater.common.errors import InvalidEvent, WrongSetting
from headwater.events.envelope import read_envelope, split_batch
from headwater.events.event_reader import EventReader
from headwater.events.redaction_rules import redact_text
from headwater.lineage.names.canonical_names import default_rules
from headwater.lineage.names.rule_parser import read_name_rules
from headwater.lineage.rules.user_rules_text import read_consumers, read_masking, read_tags

_reader = EventReader()
_names = default_rules()


def envelope(data: bytes) -> None:
    """Check that a body is valid or refused with a reason and a fix, and so is each item of a batch."""
    for read in (read_envelope, split_batch):
        try:
            read(data)
        except InvalidEvent as error:
            refusal = error
        else:
            continue
        assert refusal.reason
        assert refusal.fix


def wire(data: bytes) -> None:
    """Check that the parser can read every body that the receiver accepts, and that it raises no unexpected error."""
    try:
        key = read_envelope(data).key
    except InvalidEvent:
        key = None
    found = _reader.read([data])[0]
    assert not (key is None and not isinstance(found, InvalidEvent)), (
        "the parser accepts a body that the receiver refuses"
    )


def redaction(data: bytes) -> None:
    """Check that redacting a text twice gives the same result as redacting it once."""
    text = data.decode("utf-8", "replace")
    for prose in (False, True):
        clean = redact_text(text, prose=prose)
        assert redact_text(clean, prose=prose) == clean


def names(data: bytes) -> None:
    """Check that the canonical name of a canonical name is the same name."""
    namespace, _, name = data.decode("utf-8", "replace").partition("\n")
    found = _names.canonical(namespace, name)
    assert _names.canonical(found.namespace, found.name) == found


def rules(data: bytes) -> None:
    """Check that a rules file is read, or refused with an error that names the file."""
    text = data.decode("utf-8", "replace")
    reads: tuple[Callable[[str, str], object], ...] = (read_tags, read_masking, read_consumers, read_name_rules)
    for read in reads:
        try:
            read(text, "rules.yml")
        except WrongSetting as error:
            refusal = str(error)
        else:
            continue
        assert "rules.yml" in refusal


TARGETS: dict[str, Callable[[bytes], None]] = {
    each.__name__: each for each in (envelope, wire, redaction, names, rules)
}
