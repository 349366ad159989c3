"""Write an example for each token format that gitleaks' rule set recognizes without context.

usage: python -m tools.gitleaks_examples gitleaks.toml > tests/fixtures/secrets/gitleaks.json

The rule set is `config/gitleaks.toml` of the repository gitleaks/gitleaks (MIT). Rules that need the name of a service
near the token are skipped. `tests/events/test_redaction_corpus.py` checks that redaction hides the examples, so a newer
rule set shows which formats are missing in `headwater/events/redaction_tokens.py`. The file splits each secret into two
parts, so that repository scanners do not report it as leaked.
"""

import json
import random
import sys
import tomllib
from pathlib import Path
from re import _constants as codes
from re import _parser as parser
from typing import Any

import re2

_NAMED = (r"(?i)[\w.-]{0,50}?(?:", r"[\w.-]{0,50}?(?i:")
"""The start of patterns that need the name of a service."""

_CLASSES = {
    codes.CATEGORY_WORD: "abcdefgh0123456789ABCDEFGH",
    codes.CATEGORY_DIGIT: "0123456789",
    codes.CATEGORY_SPACE: " ",
}
_ANY = "".join(map(chr, range(33, 127)))
_TRIES = 40


def main() -> None:
    """Write a JSON object to standard output: the ID of each rule with the parts of its example."""
    rules = tomllib.loads(Path(sys.argv[1]).read_text())["rules"]
    found = {}
    for rule in rules:
        pattern = rule.get("regex", "")
        if pattern and not pattern.startswith(_NAMED) and rule["id"] != "generic-api-key":
            found[rule["id"]] = _example(pattern, random.Random(rule["id"]))
    missing = [name for name, example in found.items() if not example]
    if missing:
        sys.stderr.write(f"No example: {', '.join(missing)}\n")
    print(
        "{\n "
        + ",\n ".join(f"{json.dumps(name)}: {json.dumps(parts)}" for name, parts in found.items() if parts)
        + "\n}"
    )


def _example(pattern: str, chance: random.Random) -> list[str]:
    """Return a matching text in four parts (before the secret, its two halves, after it), or an empty list."""
    wanted = re2.compile(pattern)
    readable = pattern.replace("[[:alnum:]]", "[A-Za-z0-9]").replace(r"\z", r"\Z").replace("(?i)", "")
    for _ in range(_TRIES):
        text = "".join(_walk(parser.parse(readable), chance))
        match = wanted.search(text)
        if match:
            group = next((number for number, each in enumerate(match.groups(), 1) if each), 0)
            begin, end = match.span(group)
            middle = (begin + end) // 2
            return [text[match.start() : begin], text[begin:middle], text[middle:end], text[end : match.end()]]
    return []


def _walk(tree: Any, chance: random.Random) -> Any:
    for kind, value in tree:
        if kind is codes.LITERAL:
            yield chr(value)
        elif kind is codes.IN:
            yield chance.choice(sorted(_members(value)))
        elif kind in (codes.ANY, codes.NOT_LITERAL):
            yield chance.choice([each for each in _ANY if kind is codes.ANY or each != chr(value)])
        elif kind in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            least, most, part = value
            longest = least + 12 if most is codes.MAXREPEAT else min(most, least + 3)
            for _ in range(chance.randint(max(least, longest - 4), longest)):
                yield from _walk(part, chance)
        elif kind is codes.BRANCH:
            yield from _walk(chance.choice(value[1]), chance)
        elif kind is codes.SUBPATTERN:
            yield from _walk(value[3], chance)


def _members(parts: Any) -> set[str]:
    found: set[str] = set()
    for kind, value in parts:
        if kind is codes.LITERAL:
            found.add(chr(value))
        elif kind is codes.RANGE:
            found.update(map(chr, range(value[0], value[1] + 1)))
        elif kind is codes.CATEGORY:
            found.update(_CLASSES.get(value, "x"))
    if parts and parts[0][0] is codes.NEGATE:
        return set(_ANY) - found
    return {each for each in found if each in _ANY} or found


if __name__ == "__main__":
    main()
