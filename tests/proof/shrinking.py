"""Remove events as long as a violation still occurs."""

from collections.abc import Callable, Sequence

from tests.reference.world_events import Json


def shrunk(
    events: Sequence[Json],
    after: Sequence[Json | None],
    stays: Callable[[Sequence[Json], Sequence[Json | None]], bool],
    is_fixed: Callable[[Json], bool] = lambda _: False,
) -> tuple[list[Json], list[Json | None]]:
    """Return fewer events and their mutated versions. `stays` returns whether the violation still occurs.

    after: the mutated versions of `events` in the same places, followed by appended events. is_fixed: returns whether
    an event must not be removed.
    """
    pairs: list[tuple[Json | None, Json | None]] = list(zip(events, after, strict=False))
    pairs += [(None, each) for each in after[len(events) :]]
    size = max(1, len(pairs) // 2)
    while size:
        at = 0
        while at < len(pairs):
            fewer = pairs[:at] + pairs[at + size :]
            goes = [was for was, _ in pairs[at : at + size] if was is not None]
            if fewer and not any(map(is_fixed, goes)) and stays(*_parted(fewer)):
                pairs = fewer
            else:
                at += size
        size //= 2
    return _parted(pairs)


def _parted(pairs: Sequence[tuple[Json | None, Json | None]]) -> tuple[list[Json], list[Json | None]]:
    old = [pair for pair in pairs if pair[0] is not None]
    new = [now for was, now in pairs if was is None]
    return [was for was, _ in old if was is not None], [*(now for _, now in old), *new]
