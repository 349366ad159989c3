"""Metrics of stations in trouble that one machine and an instance of the Function App share."""

from prometheus_client import Gauge

INDEX_TROUBLE = Gauge(
    "headwater_index_in_trouble", "1 while the index cannot go on, as its log line and `/health/ready` say."
)
PARSER_TROUBLE = Gauge(
    "headwater_parser_in_trouble", "1 while the parser cannot go on, as its log line and `headwater audit` say."
)
