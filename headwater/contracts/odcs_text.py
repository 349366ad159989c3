"""Contracts as YAML: the same bytes for the same contract; what cannot be read says which file and why."""

from pathlib import Path
from typing import Any

import yaml

from headwater.contracts.odd_yaml import composed
from headwater.errors import WrongSetting
from headwater.yaml_values import constructed

LARGEST = 32 << 20
"""Bytes of a file that are read."""

Json = dict[str, Any]

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Plain(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """Writes what recurs again, for people."""

    def ignore_aliases(self, _data: object) -> bool:
        """Take nothing for the same thing."""
        return True


def yaml_of(document: Json) -> str:
    """Return a document as YAML, its members in their order."""
    text: str = yaml.dump(document, Dumper=_Plain, sort_keys=False, allow_unicode=True, width=120)
    return text


def text_of(path: Path, shown: str, too_long: str) -> str:
    """Return the text of a file; raises WrongSetting. shown: as what it is named; too_long: what to do then."""
    try:
        if path.stat().st_size > LARGEST:
            raise WrongSetting(f"{path} has more than {LARGEST >> 20} MiB. {too_long}")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise WrongSetting(f"Cannot read {shown}: {error}. Correct it, or name another file.") from error


def read_yaml(text: str, where: str) -> Json:
    """Return a document that is a mapping; raises WrongSetting naming where it lies."""
    try:
        node = composed(text, _LOADER)
        found = None if node is None else constructed(node, _LOADER)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise WrongSetting(f"{where} is no YAML: {str(error)[:500]}. Correct it.") from error
    if not isinstance(found, dict):
        raise WrongSetting(
            f"{where} holds {type(found).__name__}, not a mapping. Write it as `headwater contract` does."
        )
    return found
