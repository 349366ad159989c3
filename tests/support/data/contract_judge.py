"""Check data contracts against the standard's published model and JSON Schema, and against the observed facts."""

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import yaml
from jsonschema_rs import Draft201909Validator
from msgspec import to_builtins
from open_data_contract_standard.model import OpenDataContractStandard

from headwater.common.errors import NotKnown
from headwater.governance.contracts.breaks import Break, broken_promises, unknown_dataset_break
from headwater.governance.contracts.checking import ObservedAnswers
from headwater.governance.contracts.odcs import contract_document
from headwater.governance.contracts.promise import Promise, parse_promises
from headwater.governance.yaml_text import to_yaml
from headwater.index.reading.view_opener import ViewOpener
from headwater.operations.runtime.index import open_view_opener
from headwater.questions import definitions
from headwater.questions.declaring import Question
from tests.support.data.parsing import World

SCHEMA = files("open_data_contract_standard").joinpath("schema.json")
VALID = Draft201909Validator(json.loads(SCHEMA.read_text()))


def is_valid(text: str) -> None:
    """Check a contract against the standard's model and its JSON Schema."""
    OpenDataContractStandard.from_string(text)
    assert [f"{each.instance_path}: {each.message}" for each in VALID.iter_errors(yaml.safe_load(text))] == []


class Sources:
    """The sources from which questions are answered."""

    def __init__(self, views: ViewOpener, world: World) -> None:
        self.open_views, self.rules, self.bronze = views, views.active_rules, world.bronze

    def ask(self, question: Question, asked: Mapping[str, str]) -> Any:
        return to_builtins(question.ask(self, asked))


def written(sources: Sources, dataset: tuple[str, str], against: str | None = None) -> str:
    """Return the contract of a dataset as YAML."""
    return to_yaml(contract_document(ObservedAnswers(sources.ask, against).facts_by_name(*dataset)))


def held(sources: Sources, promise: Promise, against: str | None = None) -> list[Break]:
    try:
        return broken_promises(promise, ObservedAnswers(sources.ask, against).facts_by_name(*promise.asked))
    except NotKnown as error:
        return [unknown_dataset_break(promise, str(error))]


def every_contract(world: World) -> dict[str, str]:
    """Return the contracts of all datasets of a lake, after checking that each is valid and holds."""
    opened = open_view_opener(world.settings, world.folder)
    try:
        sources = Sources(opened, world)
        found = {}
        for each in sources.ask(definitions.datasets, {"limit": "10000"})["items"]:
            try:
                text = written(sources, (each["namespace"], each["name"]))
            except NotKnown:
                continue  # neither a schema nor an edge of the dataset is known
            is_valid(text)
            (promise,) = parse_promises(text, each["name"])
            assert [
                one
                for one in held(sources, promise)
                if not one.is_warning and one.kind not in ("dataset.missing", "dataset.renamed")
            ] == []
            found[f"{each['namespace']}/{each['name']}"] = text
        return found
    finally:
        opened.close()
