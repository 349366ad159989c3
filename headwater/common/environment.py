"""Read settings from environment variables `HEADWATER_*`, and reject misspelt variables."""

import json
from collections.abc import Mapping
from typing import Any, get_origin

from pydantic.fields import FieldInfo

from headwater.common.errors import WrongSetting

PREFIX = "HEADWATER_"

NON_SETTINGS = frozenset(
    [
        "HEADWATER_KEY",  # a client's key
        "HEADWATER_HUB",  # connection of the Function App's trigger; `HEADWATER_HUB__…` are its parts
        "HEADWATER_SPARK_JARS",
        "HEADWATER_FAILPOINT",  # kill tests
        "HEADWATER_URL",  # server for commands, and for the development server of the dashboard
        *("HEADWATER_BENCH_OUT", "HEADWATER_BENCH_ROUNDS"),
        # variables that `notebooks/parameter.yml` sets in a Fabric workspace
        *("HEADWATER_LAKE_LOCATION", "HEADWATER_LAKE_SUBPATH", "HEADWATER_LAKE_CONNECTION", "HEADWATER_WORKSPACE_NAME"),
        *("HEADWATER_RECEIVER_URL", "HEADWATER_READER_URL", "HEADWATER_KEY_VAULT", "HEADWATER_WRITE_KEY"),
    ]
)
"""Known variables that are not settings. Commands ignore them, so they may be set for other programs."""

_HUB_PREFIX = "HEADWATER_HUB__"
_LIST = '["one", "two"]'
_OBJECT = '{"account_name": "one", "account_key": "two"}'
_EXAMPLES = {
    "keys": '[{"name": "spark", "key": "at-least-8-characters", "roles": ["write"]}]',
    "triggers": '["receiver"]',
    "stations": '["receiver"]',
}


def variable_name(setting: str) -> str:
    """Return the name of the environment variable for a setting."""
    return PREFIX + setting.upper()


def read_environment(fields: Mapping[str, FieldInfo], environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of the settings that the environment sets. Lists and objects are parsed as JSON.

    Raises WrongSetting for invalid JSON, and for an unknown variable `HEADWATER_*`.
    """
    _check_unknown_variables({variable_name(name) for name in fields} | NON_SETTINGS, environment)
    return {
        name: _parse_value(name, field, environment[variable_name(name)])
        for name, field in fields.items()
        if variable_name(name) in environment
    }


def _check_unknown_variables(known: set[str], environment: Mapping[str, str]) -> None:
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in known and not name.startswith(_HUB_PREFIX):
            raise WrongSetting(
                f"Unknown variable {name}; the nearest known one is {_nearest_setting(name, known)}. Rename it, or "
                "remove it from the environment. See docs/reference/settings.md."
            )


def _nearest_setting(name: str, known: set[str]) -> str:
    from headwater.common.nearest_names import nearest_names  # noqa: PLC0415 - importing it takes 10 ms; only errors need it

    return nearest_names(name, known, limit=1, min_similarity=0)[0]


def _parse_value(name: str, field: FieldInfo, text: str) -> Any:
    shape = get_origin(field.annotation)
    if shape not in (tuple, dict):
        return text
    form, kind, example = (list, "list", _LIST) if shape is tuple else (dict, "object", _OBJECT)
    try:
        found, fault = json.loads(text), f"it starts with {text.lstrip()[:1]}"
    except ValueError as error:
        found, fault = None, str(error)
    if not isinstance(found, form):
        raise WrongSetting(
            f"{variable_name(name)} is not a JSON {kind}: {fault}. Example: {_EXAMPLES.get(name, example)}."
        )
    return found
