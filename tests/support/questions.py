"""Ask lineage questions without a server. Answers have the form of the API's JSON."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from msgspec import to_builtins

from headwater.index.reading.view_opener import ViewOpener
from headwater.questions import definitions


def ask(open_views: ViewOpener, question: str, parameters: Mapping[str, str], **beside: Any) -> Any:
    """Ask a question by its name.

    `beside`: further sources that it reads, such as bronze.
    """
    asked = dict(parameters)
    path = {name: asked.pop(name) for name in ("run", "incident") if name in asked}
    sources = SimpleNamespace(open_views=open_views, rules=open_views.active_rules, **beside)
    return to_builtins(getattr(definitions, question).ask(sources, asked, **path))
