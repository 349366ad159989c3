"""Contracts as YAML. The same contract always has the same bytes, and errors name file and cause."""

from pathlib import Path
from typing import Any

import yaml

from headwater.common.errors import WrongSetting
from headwater.common.yaml_values import construct_value
from headwater.governance.contracts.strict_yaml import compose_strict

MAX_BYTES = 32 << 20
"""Maximum size of a file in bytes."""

Json = dict[str, Any]

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _DumperWithoutAliases(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """Writes repeated values in full instead of YAML aliases, for readability."""

    def ignore_aliases(self, _data: object) -> bool:
        """Disable aliases."""
        return True


def yaml_of(document: Json) -> str:
    """Return a document as YAML, with members in order."""
    text: str = yaml.dump(document, Dumper=_DumperWithoutAliases, sort_keys=False, allow_unicode=True, width=120)
    return text


def text_of(path: Path, shown: str, too_long: str) -> str:
    """Return the text of a file.

    Raises WrongSetting. shown: its name in errors. too_long: the fix for a file that is too large.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise WrongSetting(f"{path} is larger than {MAX_BYTES >> 20} MiB. {too_long}")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise WrongSetting(f"Cannot read {shown}: {error}. Correct the file, or name another one.") from error


def read_yaml(text: str, where: str) -> Json:
    """Parse a YAML mapping. Raises WrongSetting with the location of an error."""
    try:
        node = compose_strict(text, _LOADER)
        found = None if node is None else construct_value(node, _LOADER)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise WrongSetting(f"{where} is not valid YAML: {str(error)[:500]}. Correct it.") from error
    if not isinstance(found, dict):
        raise WrongSetting(
            f"{where} contains {type(found).__name__}, not a mapping. Use the form that `headwater contract` prints."
        )
    return found
