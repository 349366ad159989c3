"""The scope of a key. The receiver stores the scope with the event, and the parser enforces it."""

from collections.abc import Iterator
from functools import lru_cache

import msgspec

from headwater.common.errors import InvalidEvent
from headwater.events.event import Event, UsedDataset

EVERY = "*"
"""The value in a key's `datasets` that means all namespaces."""

_DESTROYS = frozenset({"DROP", "RENAME", "TRUNCATE"})
_FIX = "Send it with a key for that namespace, or add the namespace to this key's `{}`."


class KeyScope(msgspec.Struct, frozen=True):
    """The namespaces to which a key is limited.

    namespaces: namespaces of jobs that the key may report. datasets: namespaces of datasets with lifecycles, tags and
    symlinks that the key may change; None means that they equal `namespaces`.
    """

    namespaces: frozenset[str]
    datasets: frozenset[str] | None = None

    def owns(self, namespace: str) -> bool:
        """Whether the key may change the datasets of a namespace."""
        owned = self.namespaces if self.datasets is None else self.datasets
        return namespace in owned or EVERY in owned


class _StoredMetadata(msgspec.Struct):
    scope: KeyScope | None = None


_kept = msgspec.json.Decoder(_StoredMetadata)


@lru_cache(4096)
def scope_of(http: str) -> KeyScope | None:
    """Return the scope in the stored metadata of a request, or None.

    http: the metadata as JSON. It has no scope if the key has no scope, or if no Headwater receiver stored the event.
    """
    try:
        return _kept.decode(http).scope if http else None
    except msgspec.DecodeError:
        return None


def check_datasets(scope: KeyScope, event: Event) -> None:
    """Raise InvalidEvent (`scope`) if an event changes a dataset outside of the scope.

    Changes are DROP, RENAME (of both names) and TRUNCATE in `lifecycleStateChange`. If the scope has `datasets`, the
    facets `tags` and `symlinks` count as changes, too. Other keys may send both facets, because producers send them for
    tables of any catalog.
    """
    for use in (*event.event_shape.inputs, *event.event_shape.outputs):
        for what, namespace in _changed_datasets(use, by_name=scope.datasets is not None):
            if not scope.owns(namespace):
                message = f"The key may not send {what} for datasets of this namespace."  # it may contain a secret
                raise InvalidEvent("scope", message, _FIX.format("datasets"), f"facets.{what}")


def _changed_datasets(use: UsedDataset, *, by_name: bool) -> Iterator[tuple[str, str]]:
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
    """Raise InvalidEvent (`scope`) if the run began outside of the scope.

    began_in: the job namespace of the first event of the run.
    """
    if began_in not in scope.namespaces:
        message = "This run began in a namespace that the key may not write."
        raise InvalidEvent("scope", message, _FIX.format("namespaces"), "run.runId")
