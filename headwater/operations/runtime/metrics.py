"""Metrics of `headwater up` and the Function App: set the metrics of stopped services, and answer a scrape."""

from collections.abc import Container

from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, Gauge, generate_latest
from starlette.responses import Response

from headwater.common.json_headers import ANSWER_HEADERS

_INDEX_TROUBLE = Gauge(
    "headwater_index_in_trouble", "1 while the index has stopped; its log and `/health/ready` show the reason."
)
_PARSER_TROUBLE = Gauge(
    "headwater_parser_in_trouble", "1 while the parser has stopped; its log and `headwater audit` show the reason."
)


def set_trouble_metrics(stopped: Container[str]) -> None:
    """Update the metrics of stopped services. stopped: names of the services that have stopped."""
    _INDEX_TROUBLE.set("index" in stopped)
    _PARSER_TROUBLE.set("parser" in stopped)


def metrics_response() -> Response:
    """Return all metrics of this process in the format of Prometheus."""
    return Response(generate_latest(REGISTRY), headers=ANSWER_HEADERS, media_type=CONTENT_TYPE_LATEST)
