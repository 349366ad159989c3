"""What takes bytes of strangers, each as a function of bytes that raises where a promise does not hold."""

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
    """A body is an event or refused with a reason; so is each item of a batch."""
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
    """A body that the receiver takes is read, or rejected with a reason: the same by both, and nothing else raised."""
    try:
        key = read_envelope(data).key
    except InvalidEvent:
        key = None
    found = _reader.read([data])[0]
    assert not (key is None and not isinstance(found, InvalidEvent)), "the parser takes what the receiver refuses"


def redaction(data: bytes) -> None:
    """Text stays text, and what is clean stays as it is."""
    text = data.decode("utf-8", "replace")
    for prose in (False, True):
        clean = redact_text(text, prose=prose)
        assert redact_text(clean, prose=prose) == clean


def names(data: bytes) -> None:
    """The name of a name is that name."""
    namespace, _, name = data.decode("utf-8", "replace").partition("\n")
    found = _names.canonical(namespace, name)
    assert _names.canonical(found.namespace, found.name) == found


def rules(data: bytes) -> None:
    """A file of rules is read, or refused with what fits."""
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
