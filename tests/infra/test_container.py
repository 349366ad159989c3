"""Check the Containerfile by reading it: the files that it copies and runs exist, and its settings are valid.

The tests cannot build images. `.github/workflows/container.yml` builds and runs the image, and `make container-steps`
runs its steps without an image.
"""

import json
import re
import shlex
import subprocess
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
import yaml
from pathspec import GitIgnoreSpec

from headwater.operations.settings import load_settings
from tests.functions.test_package import pinned
from tools.container_steps import CONTAINERFILE, instructions
from tools.helm import hadolint

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
KEYS = '[{"name": "spark", "key": "at-least-8", "roles": ["write"]}]'
EXTRAS = ("server", "azure", "kafka", "aws", "google")


@dataclass(frozen=True)
class ContainerFile:
    """The instructions of a Containerfile."""

    path: Path

    @cached_property
    def instructions(self) -> list[tuple[str, str]]:
        """Name and arguments of each instruction, with continued lines joined."""
        return list(instructions(self.path.read_text()))

    def of(self, name: str) -> list[str]:
        return [rest for each, rest in self.instructions if each == name]

    @property
    def last_stage(self) -> list[tuple[str, str]]:
        last = max(at for at, (name, _) in enumerate(self.instructions) if name == "FROM")
        return self.instructions[last:]

    @property
    def user(self) -> str:
        return next(rest for name, rest in self.last_stage if name == "USER")

    def environment(self) -> dict[str, str]:
        """Return the image's HEADWATER_* variables."""
        words = [word for name, rest in self.last_stage if name == "ENV" for word in shlex.split(rest)]
        told = dict(word.split("=", 1) for word in words)
        return {name: text for name, text in told.items() if name.startswith("HEADWATER_")}


CONTAINER = ContainerFile(CONTAINERFILE)


def test_everything_that_is_copied_is_there_and_nothing_else_is_sent_to_the_builder() -> None:
    stages = {rest.split(" AS ")[1] for rest in CONTAINER.of("FROM") if " AS " in rest}
    copied: set[str] = set()
    for rest in CONTAINER.of("COPY"):
        words = rest.split()
        if words[0].startswith("--from="):
            assert words[0].removeprefix("--from=") in stages
            continue
        copied |= {word.rstrip("/") for word in words[:-1]}
    assert all((ROOT / each).exists() for each in copied)
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    ignored = GitIgnoreSpec.from_lines((ROOT / ".containerignore").read_text().splitlines())
    sent = {name for name in listed.splitlines() if not ignored.match_file(name)}
    assert {name for name in sent if not any(name == each or name.startswith(f"{each}/") for each in copied)} == set()
    assert all(any(name == each or name.startswith(f"{each}/") for name in sent) for each in copied)
    assert (ROOT / ".dockerignore").read_text() == (ROOT / ".containerignore").read_text()


def test_the_image_starts_headwater_and_is_asked_for_its_health_as_nobody() -> None:
    (entry,), (command,) = (CONTAINER.of(name) for name in ("ENTRYPOINT", "CMD"))
    assert json.loads(entry)[0] in PROJECT["project"]["scripts"]
    assert json.loads(command) == ["up"]
    assert CONTAINER.user == "10001:10001", "a number, because Kubernetes cannot tell whether a named user is root"
    settings = load_settings({}, environment={**CONTAINER.environment(), "HEADWATER_KEYS": KEYS})[0]
    (volume,) = CONTAINER.of("VOLUME")
    assert (settings.host, str(settings.data)) == ("0.0.0.0", f"{volume}/data")
    assert CONTAINER.of("EXPOSE") == [str(settings.port)]
    (health,) = CONTAINER.of("HEALTHCHECK")
    assert f"127.0.0.1:{settings.port}/health/live" in health


def test_packages_are_those_of_the_extras_as_tested_and_have_hashes() -> None:
    for rest in CONTAINER.of("RUN"):
        for step in rest.split("&&"):
            if "pip install" in step:
                assert "--require-hashes" in step or "--no-index" in step, step
    locked = pinned((ROOT / "locks/container.txt").read_text())
    tested = pinned((ROOT / "locks/dev.txt").read_text())
    wanted = [*PROJECT["project"]["dependencies"]]
    wanted += [each for extra in EXTRAS for each in PROJECT["project"]["optional-dependencies"][extra]]
    names = {re.split(r"[\[<>=;\s]", each)[0].lower() for each in wanted}
    assert names <= locked.keys()
    assert {name: version for name, version in locked.items() if tested.get(name, version) != version} == {}
    assert "pyspark" not in locked, "the image has no Java"
    (build,) = PROJECT["build-system"]["requires"]
    assert build in (ROOT / "locks/container-build.txt").read_text()


@pytest.mark.slow
def test_hadolint_finds_nothing_and_would_find_something(tmp_path: Path) -> None:
    assert hadolint(CONTAINER.path) == []
    careless = tmp_path / "Containerfile"
    careless.write_text("FROM debian\nRUN cd /tmp && sudo apt-get install curl\n")
    assert {"DL3006", "DL3004"} <= {word for line in hadolint(careless) for word in line.split()}


def test_compose_runs_each_station_with_settings_that_it_starts_with(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "infra" / "compose.yaml").read_text()
    given = {"HEADWATER_KEYS": KEYS, "BUCKET_PASSWORD": "only-here"}
    filled = re.sub(r"\$\{(\w+):\?[^}]+\}", lambda found: given[found[1]].replace('"', '\\"'), text)
    filled = filled.replace(f"HEADWATER_KEYS: {given['HEADWATER_KEYS']}", "")
    services: dict[str, Any] = yaml.safe_load(re.sub(r"(?m)^    HEADWATER_KEYS: .*\n", "", filled))["services"]
    found = set()
    for service in services.values():
        if service.get("image") != "headwater":
            continue
        told = {**CONTAINER.environment(), **service["environment"], "HEADWATER_KEYS": KEYS}
        stations = tuple(word for word in service["command"] if word not in ("up", "--station"))
        settings = load_settings({"stations": stations}, environment=told)[0]
        assert settings.lake_options["aws_secret_access_key"].get_secret_value() == "only-here"
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
        assert (ROOT / "infra" / service["build"]["context"] / service["build"]["dockerfile"]).exists()
        found |= set(stations)
    assert found == {"receiver", "parser", "api"}
    for service in services.values():
        assert set(service.get("depends_on", ())) <= set(services)


def test_the_workflow_builds_what_compose_names_and_posts_with_a_key_that_is_taken() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "container.yml").read_text())
    job = workflow["jobs"]["container"]
    assert workflow["permissions"] == {"contents": "read"}
    assert (ROOT / job["env"]["COMPOSE_FILE"]).exists()
    post = (ROOT / ".github" / "container" / "post.py").read_text()
    assert f'KEY = "{json.loads(job["env"]["HEADWATER_KEYS"])[0]["key"]}"' in post
    assert ".github/container/post.py" in "\n".join(step.get("run", "") for step in job["steps"])
