"""What Azure's SDKs would log: a line for each request and frame, and answers of identity endpoints word for word."""

import logging


def silence_sdk() -> None:
    """Let them say nothing, in whatever order adapters are opened: ours say once what is wrong, without a secret."""
    for name in ("azure.core", "azure.eventhub", "azure.identity"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
