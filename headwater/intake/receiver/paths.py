"""Corrects the paths of posted events: producers append the API path to a URL in different ways."""

from headwater.intake.receiver import Refusal

ONE = "/api/v1/lineage"
BATCH = "/api/v1/lineage/batch"

WRONG_PATH = "wrong_path"
"""The reason of refusals for a wrong path."""

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


def resolve_path(path: str) -> str | None:
    """Return the API path, ONE or BATCH, that an inexact path can only mean; None for other paths.

    Accepts doubled and trailing slashes. Accepts a doubled API path, which results if a client appends the API path to
    a URL that contains it. Accepts `/`, to which OpenLineage's Java client posts if its URL ends in a slash.
    """
    plain = "/" + "/".join(part for part in path.split("/") if part)
    for doubled in ("/api/v1/api/v1/", f"{ONE}/api/v1/"):
        if plain.startswith(doubled):
            plain = "/api/v1/" + plain.removeprefix(doubled)
    return ONE if plain == "/" else plain if plain in (ONE, BATCH) else None


def is_wrong_path(path: str, content_type: str) -> bool:
    """Whether a POST is an event on a wrong path. It must send JSON, and the path must belong to no other API."""
    media = content_type.partition(";")[0].strip().lower()
    if media != "application/json" and not media.endswith("+json"):
        return False
    if path.startswith("/api/v1/"):
        return path.startswith((ONE, "/api/v1/api/"))
    return not path.startswith(_OTHER_ROUTES)


def wrong_path_refusal() -> Refusal:
    """Build the refusal of a POST to a path that receives no events."""
    return Refusal(
        404,
        WRONG_PATH,
        "This path receives no events.",  # not quoted: the path may contain a secret
        f"Post one event to {ONE}, an array of events to {BATCH}. In an OpenLineage client, set `url` to this server's "
        "address without a path and `endpoint` to `api/v1/lineage`.",
    )
