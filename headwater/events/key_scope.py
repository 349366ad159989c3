"""What the key of a request may speak of: kept beside its events by the receiver, judged where they become rows."""

from collections.abc import Iterator
from functools import lru_cache

import msgspec

from headwater.errors import InvalidEvent
from headwater.events.event import Event, UsedDataset

EVERY = "*"
"""Among a key's `datasets`: it speaks for all of them."""

_DESTROYS = frozenset({"DROP", "RENAME", "TRUNCATE"})
_FIX = "Send it with a key for that namespace, or add the namespace to this key's `{}`."


class KeyScope(msgspec.Struct, frozen=True):
    """Namespaces of jobs, and of datasets whose life and tags are the key's; None: those of its jobs."""

    namespaces: frozenset[str]
    datasets: frozenset[str] | None = None

    def owns(self, namespace: str) -> bool:
        """Tell whether the key speaks for the datasets of a namespace."""
        owned = self.namespaces if self.datasets is None else self.datasets
        return namespace in owned or EVERY in owned


class _Kept(msgspec.Struct):
    scope: KeyScope | None = None


_kept = msgspec.json.Decoder(_Kept)


@lru_cache(4096)
def scope_of(http: str) -> KeyScope | None:
    """Return the scope that the receiver kept of a request; None for a key of all namespaces, and without receiver."""
    try:
        return _kept.decode(http).scope if http else None
    except msgspec.DecodeError:
        return None


def check_datasets(scope: KeyScope, event: Event) -> None:
    """Raise InvalidEvent (`scope`) where an event decides over a dataset of somebody else.

    It does by `lifecycleStateChange` DROP, RENAME, TRUNCATE, of the renamed dataset, too; by `tags` and `symlinks` for
    a key that names its `datasets`, because producers send these with tables of any catalogue.
    """
    for use in (*event.said.inputs, *event.said.outputs):
        for what, namespace in _decided(use, by_name=scope.datasets is not None):
            if not scope.owns(namespace):
                said = f"The key may not say {what} of a dataset of this namespace."  # not quoted: may hold a secret
                raise InvalidEvent("scope", said, _FIX.format("datasets"), f"facets.{what}")


def _decided(use: UsedDataset, *, by_name: bool) -> Iterator[tuple[str, str]]:
    if (use.lifecycle or "").upper() in _DESTROYS:
        yield "lifecycleStateChange", use.namespace
        if use.previous_namespace is not None:
            yield "lifecycleStateChange", use.previous_namespace
    if by_name and use.tags is not None:
        yield "tags", use.namespace
    if by_name:
        for namespace in (use.namespace, *(link.namespace for link in use.symlinks)) if use.symlinks else ():
            yield "symlinks", namespace


def check_run(scope: KeyScope, began_in: str) -> None:
    """Raise InvalidEvent (`scope`) for an event of a run that a namespace of somebody else began."""
    if began_in not in scope.namespaces:
        said = "This run was begun in another namespace, which the key may not write."
        raise InvalidEvent("scope", said, _FIX.format("namespaces"), "run.runId")
