"""Disables the logging of the Azure SDKs.

They would log a line per request and frame, and complete answers of identity endpoints.
"""

import logging


def disable_sdk_logging() -> None:
    """Disable SDK logging. Headwater's adapters log errors themselves, once and without secrets."""
    for name in ("azure.core", "azure.eventhub", "azure.identity"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
