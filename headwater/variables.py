"""The variables `HEADWATER_*`: settings, those that something else reads, and misspelt ones, which are refused."""

import json
from collections.abc import Mapping
from typing import Any, get_origin

from pydantic.fields import FieldInfo

from headwater.errors import WrongSetting

PREFIX = "HEADWATER_"

OTHERS = frozenset(
    [
        "HEADWATER_KEY",  # a client's key
        "HEADWATER_HUB",  # connection of the Function App's trigger, or the members `HEADWATER_HUB__…`
        "HEADWATER_SPARK_JARS",
        "HEADWATER_FAILPOINT",  # kill tests
        "HEADWATER_URL",  # whom commands ask, and the dashboard's development server
        *("HEADWATER_BENCH_OUT", "HEADWATER_BENCH_ROUNDS"),
        # what `notebooks/parameter.yml` puts into a Fabric workspace
        *("HEADWATER_LAKE_LOCATION", "HEADWATER_LAKE_SUBPATH", "HEADWATER_LAKE_CONNECTION", "HEADWATER_WORKSPACE_NAME"),
        *("HEADWATER_RECEIVER_URL", "HEADWATER_READER_URL", "HEADWATER_KEY_VAULT", "HEADWATER_WRITE_KEY"),
    ]
)
"""Variables that are no settings: whoever sets one of them may run any command of ours beside what reads it."""

_MEMBERS = "HEADWATER_HUB__"
_LIST = '["one", "two"]'
_OBJECT = '{"account_name": "one", "account_key": "two"}'
_EXAMPLES = {
    "keys": '[{"name": "spark", "key": "at-least-8-characters", "roles": ["write"]}]',
    "triggers": '["receiver"]',
    "stations": '["receiver"]',
}


def variable_of(setting: str) -> str:
    """Return the variable of a setting."""
    return PREFIX + setting.upper()


def read_variables(fields: Mapping[str, FieldInfo], environment: Mapping[str, str]) -> dict[str, Any]:
    """Return what the variables of settings say; lists and objects are JSON.

    Raises WrongSetting, also for a variable `HEADWATER_*` that nothing reads.
    """
    _refuse_unknown({variable_of(name) for name in fields} | OTHERS, environment)
    return {
        name: _value(name, field, environment[variable_of(name)])
        for name, field in fields.items()
        if variable_of(name) in environment
    }


def _refuse_unknown(known: set[str], environment: Mapping[str, str]) -> None:
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in known and not name.startswith(_MEMBERS):
            raise WrongSetting(
                f"Unknown variable {name}; the nearest known one is {_nearest(name, known)}. Rename it, or take it out "
                "of the environment. See docs/settings.md."
            )


def _nearest(name: str, known: set[str]) -> str:
    from headwater.nearest_names import nearest  # noqa: PLC0415 - 10 ms of a cold start that only an error needs

    return nearest(name, known, limit=1, least=0)[0]


def _value(name: str, field: FieldInfo, text: str) -> Any:
    shape = get_origin(field.annotation)
    if shape not in (tuple, dict):
        return text
    form, kind, example = (list, "list", _LIST) if shape is tuple else (dict, "object", _OBJECT)
    try:
        found, fault = json.loads(text), f"it begins with {text.lstrip()[:1]}"
    except ValueError as error:
        found, fault = None, str(error)
    if not isinstance(found, form):
        raise WrongSetting(f"{variable_of(name)} is no JSON {kind}: {fault}. Example: {_EXAMPLES.get(name, example)}.")
    return found
