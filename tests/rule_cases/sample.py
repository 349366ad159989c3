"""Select the cases that together cover all features. In `make test`, slow judges answer only these."""

import re
from collections.abc import Iterable, Iterator, Mapping

from tests.reference.world_events import Json
from tests.rule_cases.case import Case


def sample_cases(cases: Iterable[Case], topics: Mapping[str, str]) -> list[Case]:
    """Return cases that together have every feature: one after the other, the one that adds most; topics: by name."""
    ahead = {case.name: (case, set(features(case, topics[case.name]))) for case in cases}
    missing, sample = set[tuple[str, ...]]().union(*(found for _, found in ahead.values())), []
    while missing:
        case, found = max(ahead.values(), key=lambda each: len(each[1] & missing))
        missing -= found
        sample.append(case)
    return sample


def features(case: Case, topic: str) -> Iterator[tuple[str, ...]]:
    """Yield the questions for each rule, the answers for each topic, and the event types and facets of the events."""
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
