"""The cases that have together whatever a case may have: what is dear asks these, and all of them in a long test."""

import re
from collections.abc import Iterable, Iterator, Mapping

from tests.reference.world_events import Json
from tests.rule_cases.case import Case


def few_cases(cases: Iterable[Case], topics: Mapping[str, str]) -> list[Case]:
    """Return the cases that have something none before them has; topics: by the name of a case."""
    known, few = set[tuple[str, ...]](), []
    for case in cases:
        if (found := set(features(case, topics[case.name]))) - known:
            known |= found
            few.append(case)
    return few


def features(case: Case, topic: str) -> Iterator[tuple[str, ...]]:
    """Yield what a case asks about its rule, what its topic answers to that, and the facets of its events."""
    for ask in case.asks:
        answers = ask.expected.values() if isinstance(ask.expected, dict) else [min(len(ask.expected), 2)]
        yield case.name.split()[0], ask.kind
        yield from ((topic, ask.kind, re.sub(r"\d+", "n", str(each))) for each in answers)
    for event in case.events:
        yield "event", event.get("eventType", "")
        for place, facets in _facets_of(event):
            yield from ((place, each) for each in facets)


def _facets_of(event: Json) -> Iterator[tuple[str, Json]]:
    yield from ((place, event.get(place, {}).get("facets", {})) for place in ("run", "job", "dataset"))
    for place in ("inputs", "outputs"):
        for each in event.get(place, []):
            yield from ((place, each.get(name, {})) for name in ("facets", "inputFacets", "outputFacets"))
