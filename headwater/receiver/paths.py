"""Which address a posted event means: producers add the path of the protocol to a URL in different ways."""

from headwater.receiver import Refusal

ONE = "/api/v1/lineage"
BATCH = "/api/v1/lineage/batch"

WRONG_PATH = "wrong_path"
"""Reason of such a refusal."""

_OTHER_ROUTES = (
    "/api/headwater/",
    "/api/v2beta/",
    "/auth/",
    "/health/",
    "/assets/",
    "/docs",
    "/openapi.json",
    "/metrics",
)


def meant(path: str) -> str | None:
    """Return the address that a path can only mean: ONE or BATCH; None for any other path.

    Slashes may be doubled or trail. The path of the protocol may stand twice, because a client adds it to a URL that
    has it. OpenLineage's Java client posts to `/` if its URL ends in a slash.
    """
    plain = "/" + "/".join(part for part in path.split("/") if part)
    for doubled in ("/api/v1/api/v1/", f"{ONE}/api/v1/"):
        if plain.startswith(doubled):
            plain = "/api/v1/" + plain.removeprefix(doubled)
    return ONE if plain == "/" else plain if plain in (ONE, BATCH) else None


def is_wrong(path: str, content_type: str) -> bool:
    """Tell whether a POST is an event on a wrong path: JSON, and the path is none of the reading API's or Marquez's."""
    media = content_type.partition(";")[0].strip().lower()
    if media != "application/json" and not media.endswith("+json"):
        return False
    if path.startswith("/api/v1/"):
        return path.startswith((ONE, "/api/v1/api/"))
    return not path.startswith(_OTHER_ROUTES)


def wrong_path() -> Refusal:
    """Return the refusal of a POST to a path that receives no events."""
    return Refusal(
        404,
        WRONG_PATH,
        "This path takes no events.",  # the path is not quoted: it may hold a secret
        f"Post one event to {ONE}, an array of events to {BATCH}. In an OpenLineage client, set `url` to this server's "
        "address without a path and `endpoint` to `api/v1/lineage`.",
    )
