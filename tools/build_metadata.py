"""Set the metadata of the wheel that depends on the build machine: the project's URLs and an index-ready README.

An index page shows the README without the repository, so links and images need absolute URLs. GitHub's runners provide
the repository and the tag in `GITHUB_SERVER_URL`, `GITHUB_REPOSITORY` and `GITHUB_REF_NAME`. Elsewhere, the README is
unchanged and the wheel has no URLs. Hatchling runs this file, so it must not import other modules of the project.
"""

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?://|#|mailto:)([^)\s]+)\)")


class CustomMetadataHook(MetadataHookInterface):
    """Sets `readme` and `urls`, which `pyproject.toml` declares as dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add both fields to the project's metadata."""
        text = (Path(self.root) / "README.md").read_text("utf-8")
        server, repository = os.environ.get("GITHUB_SERVER_URL"), os.environ.get("GITHUB_REPOSITORY")
        address = f"{server}/{repository}" if server and repository else None
        if address:
            text = with_absolute_links(text, address, os.environ.get("GITHUB_REF_NAME", "main"))
            metadata["urls"] = urls(address)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def urls(address: str) -> dict[str, str]:
    """Return the URLs that an index page lists. address: URL of the repository."""
    return {
        "Documentation": f"{address}/tree/main/docs",
        "Source": address,
        "Issues": f"{address}/issues",
        "Changelog": f"{address}/blob/main/CHANGELOG.md",
    }


def with_absolute_links(text: str, address: str, ref: str) -> str:
    """Return the text with absolute links and images that point to a tag or branch of the repository."""

    def absolute(found: re.Match[str]) -> str:
        image, label, path = found.groups()
        inner = _LINK.sub(absolute, label)
        return f"{image}[{inner}]({address}/{'raw' if image else 'blob'}/{ref}/{path})"

    return _LINK.sub(absolute, text)
