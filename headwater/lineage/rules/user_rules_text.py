"""Read the rule files of users for tags, masking, constants, rewrites and consumers.

Errors name the file, line and rule.
"""

import re

from headwater.lineage.rules.rule_text import RuleEntry, read_entries
from headwater.lineage.rules.selectors import Selector
from headwater.lineage.rules.user_rules import Consumer, MaskingRule, TagRule, WriteRule

_COLUMN_KEYS = ("namespace", "dataset", "column")
_TAG_KEYS = (*_COLUMN_KEYS, "tag", "value")
_MASKING_KEYS = ("masked", "job", "output", "input", "description")
_WILDCARDS = frozenset("*?/.")
_DURATION = re.compile(r"([1-9][0-9]{0,5})([hd])")
_UNITS_US = {"h": 3_600_000_000, "d": 86_400_000_000}
_WRITE_KEYS = ("producer", "job", "run", "namespace", "dataset", "writes", "keeps")
_WRITE_VALUES = ("whole", "part", "append")
_CONSUMER_KEYS = ("consumer", "measure", "namespace", "dataset", "columns")


def read_tags(text: str, file: str) -> tuple[TagRule, ...]:
    """Read `tags.yaml`."""
    return tuple(_tag_rule(entry) for entry in read_entries(text, file, {"tags": _TAG_KEYS})["tags"])


def read_masking(text: str, file: str) -> tuple[MaskingRule, ...]:
    """Read `masking.yaml`."""
    return tuple(_masking_rule(entry) for entry in read_entries(text, file, {"masking": _MASKING_KEYS})["masking"])


def read_constants(text: str, file: str) -> tuple[Selector, ...]:
    """Read `constants.yaml`."""
    return tuple(
        _constant_selector(entry) for entry in read_entries(text, file, {"constants": _COLUMN_KEYS})["constants"]
    )


def read_rewrites(text: str, file: str) -> tuple[WriteRule, ...]:
    """Read `rewrites.yaml`."""
    return tuple(_write_rule(entry) for entry in read_entries(text, file, {"rewrites": _WRITE_KEYS})["rewrites"])


def read_consumers(text: str, file: str) -> tuple[Consumer, ...]:
    """Read `consumers.yaml`."""
    return tuple(
        _consumer_rule(entry) for entry in read_entries(text, file, {"consumers": _CONSUMER_KEYS})["consumers"]
    )


def _tag_rule(entry: RuleEntry) -> TagRule:
    entry.required_text("dataset")
    return TagRule(_read_selector(entry), entry.required_text("tag"), entry.optional_text("value") or "true")


def _masking_rule(entry: RuleEntry) -> MaskingRule:
    masked = entry.flag("masked")
    if masked is None:
        raise entry.setting_error("masked is missing", "add `masked: true` or `masked: false`")
    if len(entry.nodes) == 1:
        raise entry.setting_error("it would fit every step", "add job, output, input or description")
    output, source = (_edge_selector(entry, key) for key in ("output", "input"))
    return MaskingRule(masked, entry.optional_text("job"), output, source, entry.optional_text("description"))


def _constant_selector(entry: RuleEntry) -> Selector:
    for key in ("dataset", "column"):
        if _WILDCARDS.issuperset(entry.required_text(key)):
            raise entry.setting_error(f"{key} fits everything", f"name the {key}, or a part of its name, as in `etl_*`")
    return _read_selector(entry)


def _write_rule(entry: RuleEntry) -> WriteRule:
    producer, job, run, dataset = (entry.optional_text(key) for key in ("producer", "job", "run", "dataset"))
    names = [name for name in (producer, job, run, dataset) if name is not None and not _WILDCARDS.issuperset(name)]
    if not names:
        raise entry.setting_error(
            "it would fit every write", "name a producer, a job, a run or a dataset, or a part of its name"
        )
    writes, keeps = entry.optional_text("writes"), entry.optional_text("keeps")
    if writes is not None and writes not in _WRITE_VALUES:
        raise entry.setting_error(f"writes is {writes[:60]!r}", f"write one of {', '.join(_WRITE_VALUES)}")
    if writes is None and keeps is None:
        raise entry.setting_error("it declares nothing", f"add `writes: {'|'.join(_WRITE_VALUES)}` or `keeps: 90d`")
    if keeps is not None and (dataset is None or (producer, job, run) != (None, None, None)):
        raise entry.setting_error(
            "keeps is of a dataset, whoever writes it", "name the dataset, without producer, job and run"
        )
    selector = Selector(entry.optional_text("namespace"), dataset)
    return WriteRule(producer, job, selector, writes, _retention_us(entry, keeps), run)


def _retention_us(entry: RuleEntry, keeps: str | None) -> int | None:
    if keeps is None:
        return None
    found = _DURATION.fullmatch(keeps)
    if found is None:
        raise entry.setting_error(f"keeps is {keeps[:60]!r}", "write a number of days or hours, such as `keeps: 90d`")
    return int(found[1]) * _UNITS_US[found[2]]


def _edge_selector(entry: RuleEntry, key: str) -> Selector:
    part = entry.nested_entry(key, _COLUMN_KEYS)
    return Selector() if part is None else _read_selector(part)


def _consumer_rule(entry: RuleEntry) -> Consumer:
    entry.required_text("dataset")
    return Consumer(
        entry.required_text("consumer"), entry.optional_text("measure"), _read_selector(entry), entry.texts("columns")
    )


def _read_selector(entry: RuleEntry) -> Selector:
    return Selector(*(entry.optional_text(key) for key in _COLUMN_KEYS))
