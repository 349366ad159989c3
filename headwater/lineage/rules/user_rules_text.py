"""Read users' files of tags, masking, constants, rewrites and consumers. Errors name file, line and rule."""

import re

from headwater.lineage.rules.rule_text import Entry, read_entries
from headwater.lineage.rules.selectors import Selector
from headwater.lineage.rules.user_rules import Consumer, MaskingRule, TagRule, WriteRule

_COLUMN = ("namespace", "dataset", "column")
_TAG = (*_COLUMN, "tag", "value")
_MASKING = ("masked", "job", "output", "input", "description")
_WILDCARDS = frozenset("*?/.")
_DURATION = re.compile(r"([1-9][0-9]{0,5})([hd])")
_UNITS_US = {"h": 3_600_000_000, "d": 86_400_000_000}
_WRITE = ("producer", "job", "run", "namespace", "dataset", "writes", "keeps")
_WRITES = ("whole", "part", "append")
_CONSUMER = ("consumer", "measure", "namespace", "dataset", "columns")


def read_tags(text: str, file: str) -> tuple[TagRule, ...]:
    """Read `tags.yaml`."""
    return tuple(_tag(entry) for entry in read_entries(text, file, {"tags": _TAG})["tags"])


def read_masking(text: str, file: str) -> tuple[MaskingRule, ...]:
    """Read `masking.yaml`."""
    return tuple(_masking(entry) for entry in read_entries(text, file, {"masking": _MASKING})["masking"])


def read_constants(text: str, file: str) -> tuple[Selector, ...]:
    """Read `constants.yaml`."""
    return tuple(_constant(entry) for entry in read_entries(text, file, {"constants": _COLUMN})["constants"])


def read_rewrites(text: str, file: str) -> tuple[WriteRule, ...]:
    """Read `rewrites.yaml`."""
    return tuple(_write(entry) for entry in read_entries(text, file, {"rewrites": _WRITE})["rewrites"])


def read_consumers(text: str, file: str) -> tuple[Consumer, ...]:
    """Read `consumers.yaml`."""
    return tuple(_consumer(entry) for entry in read_entries(text, file, {"consumers": _CONSUMER})["consumers"])


def _tag(entry: Entry) -> TagRule:
    entry.text("dataset")
    return TagRule(_selector(entry), entry.text("tag"), entry.optional("value") or "true")


def _masking(entry: Entry) -> MaskingRule:
    masked = entry.flag("masked")
    if masked is None:
        raise entry.error("masked is missing", "add `masked: true` or `masked: false`")
    if len(entry.values) == 1:
        raise entry.error("it would fit every step", "add job, output, input or description")
    output, source = (_end(entry, key) for key in ("output", "input"))
    return MaskingRule(masked, entry.optional("job"), output, source, entry.optional("description"))


def _constant(entry: Entry) -> Selector:
    for key in ("dataset", "column"):
        if _WILDCARDS.issuperset(entry.text(key)):
            raise entry.error(f"{key} fits everything", f"name the {key}, or a part of its name, as in `etl_*`")
    return _selector(entry)


def _write(entry: Entry) -> WriteRule:
    producer, job, run, dataset = (entry.optional(key) for key in ("producer", "job", "run", "dataset"))
    names = [name for name in (producer, job, run, dataset) if name is not None and not _WILDCARDS.issuperset(name)]
    if not names:
        raise entry.error(
            "it would fit every write", "name a producer, a job, a run or a dataset, or a part of its name"
        )
    writes, keeps = entry.optional("writes"), entry.optional("keeps")
    if writes is not None and writes not in _WRITES:
        raise entry.error(f"writes is {writes[:60]!r}", f"write one of {', '.join(_WRITES)}")
    if writes is None and keeps is None:
        raise entry.error("it declares nothing", f"add `writes: {'|'.join(_WRITES)}` or `keeps: 90d`")
    if keeps is not None and (dataset is None or (producer, job, run) != (None, None, None)):
        raise entry.error("keeps is of a dataset, whoever writes it", "name the dataset, without producer, job and run")
    selector = Selector(entry.optional("namespace"), dataset)
    return WriteRule(producer, job, selector, writes, _keeps_us(entry, keeps), run)


def _keeps_us(entry: Entry, keeps: str | None) -> int | None:
    if keeps is None:
        return None
    found = _DURATION.fullmatch(keeps)
    if found is None:
        raise entry.error(f"keeps is {keeps[:60]!r}", "write a number of days or hours, such as `keeps: 90d`")
    return int(found[1]) * _UNITS_US[found[2]]


def _end(entry: Entry, key: str) -> Selector:
    part = entry.part(key, _COLUMN)
    return Selector() if part is None else _selector(part)


def _consumer(entry: Entry) -> Consumer:
    entry.text("dataset")
    return Consumer(entry.text("consumer"), entry.optional("measure"), _selector(entry), entry.texts("columns"))


def _selector(entry: Entry) -> Selector:
    return Selector(*(entry.optional(key) for key in _COLUMN))
