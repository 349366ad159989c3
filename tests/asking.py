"""Questions to lineage without a server; answers as JSON has them."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from msgspec import to_builtins

from headwater.index.reading.view_opener import ViewOpener
from headwater.questions import declared


def ask(open_views: ViewOpener, question: str, parameters: Mapping[str, str]) -> Any:
    """Ask a question by its name."""
    asked = dict(parameters)
    path = {name: asked.pop(name) for name in ("run",) if name in asked}
    return to_builtins(getattr(declared, question).ask(SimpleNamespace(open_views=open_views), asked, **path))
