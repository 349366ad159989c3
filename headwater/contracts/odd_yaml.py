"""YAML that no file of ours needs and that a loader may die of: refused in a first pass, which keeps nothing."""

from typing import Any

import yaml

_DEEPEST = 100


def refuse_odd(text: str | bytes, loader: Any) -> None:
    """Refuse what nests deeply or has an alias; raises MarkedYAMLError. loader: whose parser reads it."""
    deep = 0
    for event in yaml.parse(text, Loader=loader):
        deep += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if deep > _DEEPEST:  # libyaml's composer calls itself for each level
            raise found_at(event.start_mark, f"it nests more than {_DEEPEST} levels, which no file of this kind does")
        if isinstance(event, yaml.AliasEvent):  # a few of them can stand for more than memory holds
            raise found_at(event.start_mark, f"alias *{event.anchor} is not taken, write it out")


def found_at(mark: Any, problem: str) -> yaml.MarkedYAMLError:
    """Return what to raise for a problem at a place of a file."""
    return yaml.MarkedYAMLError(problem=problem, problem_mark=mark)
