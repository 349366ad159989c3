"""Replace the ids of OneLake workspaces and items in answers by their current display names."""

import re
from collections.abc import Mapping
from typing import Any

from headwater.api.marquez.changes import Change

_GUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_ID = re.compile(rf"(?<=abfss://){_GUID}(?=@onelake\.)|(?:\A|(?<=:)|(?<=\.com/)){_GUID}(?=/)")
_NAMED = {"namespace", "name", "physicalName", "sourceName", "dataset", "nodeId", "id", "origin", "destination"}
_AS_SENT = {"facets", "runFacets", "events"}


def with_display_names(found: Any, names: Mapping[str, str]) -> Any:
    """Return an answer with display names instead of ids, if they are known. Requests accept both spellings.

    found: an answer, a DeferredAnswer, or a Change; names: display names by id.
    """
    if not names:
        return found
    if isinstance(found, Change):
        return found._replace(answer=_shown(found.answer, names))
    if callable(found):
        return lambda bronze: _shown(found(bronze), names)
    return _shown(found, names)


def _shown(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        return [_shown(each, names) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: each if key in _AS_SENT else _member(key, each, names) for key, each in value.items()}


def _member(key: str, value: Any, names: Mapping[str, str]) -> Any:
    if not isinstance(value, str):
        return _shown(value, names)
    return _ID.sub(lambda found: names.get(found[0], found[0]), value) if key in _NAMED else value
