"""Write the OpenAPI document, from which the dashboard's types are generated: `python -m tools.openapi`."""

import json
from pathlib import Path

from headwater.api.openapi import openapi_document
from headwater.api.routes import ROUTES

TARGET = Path(__file__).parents[1] / "web" / "openapi.json"


def main() -> None:
    """Write the document with all routes."""
    TARGET.write_text(json.dumps(openapi_document(ROUTES), indent=1))


if __name__ == "__main__":
    main()
