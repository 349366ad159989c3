"""Settings: the source of each value, and a one-line error for a wrong one."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from headwater.common.environment import NON_SETTINGS, variable_name
from headwater.common.errors import WrongSetting
from headwater.common.storage_options import option_seconds
from headwater.operations.settings import Settings, load_settings
from tests.support.paths import ROOT

VARIABLE = re.compile(r"\bHEADWATER_[A-Z]+(?:_[A-Z]+)*\b")

KEY = '[{"name": "spark", "key": "at-least-8", "roles": ["write"]}]'


def loaded(tmp_path: Path, *, file: str = "", env: dict[str, str] | None = None, **given: Any) -> Any:
    (tmp_path / "headwater.toml").write_text(file)
    return load_settings(given, folder=tmp_path, environment=env or {})


def test_the_command_line_beats_the_environment_beats_the_file_beats_the_default(tmp_path: Path) -> None:
    settings, sources = loaded(
        tmp_path,
        file="port = 1\nhost = '::1'\ntick_s = 3",
        env={"HEADWATER_PORT": "2", "HEADWATER_TICK_S": "4"},
        port=5,
    )
    assert (settings.port, settings.tick_s, settings.host) == (5, 4.0, "::1")
    assert (sources["port"], sources["tick_s"], sources["host"], sources["data"]) == (
        "command line",
        "HEADWATER_TICK_S",
        "headwater.toml",
        "default",
    )


def test_keys_come_as_a_table_or_as_json(tmp_path: Path) -> None:
    file = "[[keys]]\nname = 'airflow'\nkey = 'another-secret'\nroles = ['write', 'read']\nnamespaces = ['prod']"
    assert loaded(tmp_path, file=file)[0].keys[0].namespaces == {"prod"}
    assert loaded(tmp_path, env={"HEADWATER_KEYS": KEY})[0].keys[0].name == "spark"


@pytest.mark.parametrize(
    ("name", "value", "fits"),
    [
        ("max_retries", "many", "3"), ("MAX_RETRIES", "-1", "3"), ("max_retries", "9" * 30, "3"),
        ("retry_timeout", "9e99d", "15s"), ("timeout", "1", "15s"), ("aws_connect_timeout", "1 blue moon", "15s"),
        ("allow_http", "maybe", "true"), ("pool_max_idle_per_host", "", "3"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("setting", ["lake_options", "claims_options"])
def test_an_option_that_is_no_number_is_said_with_its_name(
    tmp_path: Path, setting: str, name: str, value: str, fits: str
) -> None:
    with pytest.raises(WrongSetting, match=rf"{setting}: {name} = .*Write it like.*{fits}"):
        loaded(tmp_path, file="", env=None, **{setting: {name: value}})


def test_options_as_the_stores_take_them_are_taken(tmp_path: Path) -> None:
    good = {"max_retries": "0", "timeout": "1m 30s", "retry_timeout": "2 days", "allow_http": "TRUE", "other": "many"}
    assert loaded(tmp_path, lake_options=good)[0].lake_options.keys() == good.keys()
    assert (option_seconds("1m 30s"), option_seconds("250ms"), option_seconds("2 days")) == (90, 0.25, 172_800)


@pytest.mark.parametrize("value", ["many", "inf", "nan", "-1", "9" * 30, "1e308"])
def test_no_setting_takes_a_number_that_nothing_can_hold(tmp_path: Path, value: str) -> None:
    numbers = [name for name, field in Settings.model_fields.items() if {int, float} & {*_kinds(field.annotation)}]
    assert len(numbers) > 12
    for name in numbers:
        with pytest.raises(WrongSetting, match=f"Setting '{name}' from {variable_name(name)}"):
            loaded(tmp_path, env={variable_name(name): value})


def _kinds(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) or (annotation,)


@pytest.mark.parametrize(
    ("file", "env", "words"),
    [
        ("prot = 5000", {}, ["Unknown setting 'prot'", "headwater.toml", "port"]),
        ("port = 'high'", {}, ["'port' from headwater.toml", "integer"]),
        ("port = 99999", {}, ["'port'", "65535"]),
        ("port = ", {}, ["Cannot read", "headwater.toml"]),
        ("", {"HEADWATER_TICK_S": "soon"}, ["'tick_s' from HEADWATER_TICK_S", "number"]),
        ("", {"HEADWATER_KEYS": "secret"}, ["HEADWATER_KEYS is not a JSON list"]),
        ("", {"HEADWATER_KEYS": '{"name": "secret"}'}, ["HEADWATER_KEYS is not a JSON list: it starts with {"]),
        (
            "",
            {"HEADWATER_LAKE_OPTIONS": '["secret"]'},
            ["HEADWATER_LAKE_OPTIONS is not a JSON object: it starts with ["],
        ),
        ("", {"HEADWATER_KEYS": '[{"name": "x", "key": "short"}]'}, ["'keys.0.key'", "8"]),
        ("host = '0.0.0.0'", {}, ["Other machines can reach host", "HEADWATER_KEYS"]),
        ("", {"HEADWATER_PROT": "1"}, ["HEADWATER_PROT;", "nearest known one is HEADWATER_PORT.", "Rename it"]),
        ("", {"HEADWATER_KAFKA_SERVER": "a:1"}, ["HEADWATER_KAFKA_SERVER;", "HEADWATER_KAFKA_SERVERS."]),
        ("", {"HEADWATER_": "1"}, ["Unknown variable HEADWATER_;"]),
        ("vacuum_hours = 0", {}, ["'vacuum_hours'", "24"]),
    ],
)
def test_a_wrong_setting_is_named_with_its_source_and_the_fix(
    tmp_path: Path, file: str, env: dict[str, str], words: list[str]
) -> None:
    with pytest.raises(WrongSetting) as caught:
        loaded(tmp_path, file=file, env=env)
    assert all(word in str(caught.value) for word in words), caught.value
    assert "short" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_variables_that_something_else_reads_are_no_settings_and_no_mistakes(tmp_path: Path) -> None:
    others = [*NON_SETTINGS, "HEADWATER_HUB__fullyQualifiedNamespace", "HEADWATERS", "APPSETTING_HEADWATER_X"]
    assert loaded(tmp_path, env=dict.fromkeys(others, "x")) == loaded(tmp_path)


def test_every_variable_that_this_repository_uses_is_known_and_every_known_one_is_used() -> None:
    used = {name for path in sources_of_variables() for name in VARIABLE.findall(path.read_text())}
    settings = set(map(variable_name, Settings.model_fields))
    assert used - settings == NON_SETTINGS


def sources_of_variables() -> Iterator[Path]:
    """Yield the files that read or set variables. `headwater/common/environment.py` only names them."""
    for folder in ("headwater", "functions", "demo", "bench", "notebooks", "infra/bicep", "web/src", "web/bench"):
        for path in (ROOT / folder).rglob("*.*"):
            if path.suffix in (".py", ".yml", ".bicep", ".ts", ".tsx") and path.name != "environment.py":
                yield path
    yield ROOT / "web/vite.config.ts"


def test_other_addresses_are_fine_with_keys(tmp_path: Path) -> None:
    assert loaded(tmp_path, file="host = '0.0.0.0'", env={"HEADWATER_KEYS": KEY})[0].host == "0.0.0.0"


def test_a_key_is_never_shown() -> None:
    settings = Settings.model_validate({"keys": [{"name": "spark", "key": "very-secret-key"}]})
    assert "very-secret-key" not in repr(settings) + settings.model_dump_json()


def test_every_setting_is_documented() -> None:
    text = (ROOT / "docs/reference/settings.md").read_text()
    for name, field in Settings.model_fields.items():
        assert f"| `{name}` |" in text, f"docs/reference/settings.md does not describe {name}"
        assert field.description
        assert field.description in text, (
            f"the description of {name} in docs/reference/settings.md differs from the code"
        )
