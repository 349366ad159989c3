"""Metrics of stopped stations, shared by `headwater up` and the Function App."""

from prometheus_client import Gauge

INDEX_TROUBLE = Gauge(
    "headwater_index_in_trouble", "1 while the index has stopped; its log and `/health/ready` show the reason."
)
PARSER_TROUBLE = Gauge(
    "headwater_parser_in_trouble", "1 while the parser has stopped; its log and `headwater audit` show the reason."
)
