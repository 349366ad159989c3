"""Search as HTTP and the command line ask for it."""

from collections.abc import Mapping
from typing import Any

from headwater.api.lineage import check_names, number
from headwater.index.search import Search

LIMIT = 20


def search(things: Search, parameters: Mapping[str, str]) -> dict[str, Any]:
    """Answer what is called so; raises WrongQuestion for parameters out of form."""
    check_names("search", parameters, ("q", "kinds", "limit"))
    kinds = [kind.strip() for kind in parameters.get("kinds", "").split(",") if kind.strip()]
    limit = number(parameters, "limit")
    return things.find(parameters.get("q", ""), kinds=kinds, limit=LIMIT if limit is None else limit)
