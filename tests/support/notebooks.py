"""Read notebooks in Fabric's git format and run them as Fabric does: the caller's parameters override the defaults."""

import base64
import html
import re
import runpy
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.image
import numpy as np

from tests.support.paths import ROOT

FOLDER = ROOT / "notebooks"
_MARK = re.compile(r"^# (METADATA|MARKDOWN|PARAMETERS CELL|CELL) \*{20}$", re.MULTILINE)


class Cell(NamedTuple):
    """A cell of a notebook's source. `kind` is the name in its marker."""

    kind: str
    text: str


def cells(notebook: Path) -> list[Cell]:
    """Split a notebook into its cells."""
    head, *parts = _MARK.split((notebook / "notebook-content.py").read_text())
    assert head == "# Fabric notebook source\n\n"
    return [Cell(kind, text.strip("\n")) for kind, text in zip(parts[::2], parts[1::2], strict=True)]


class Shown(NamedTuple):
    """The output of a notebook: values, images as arrays of pixels, and texts."""

    values: list[Any]
    images: list[Any]
    texts: list[str]


def run(name: str, folder: Path, session: Mapping[str, Any], **parameters: object) -> Shown:
    """Run a notebook. `session`: the variables that the session defines, such as `spark`."""
    lines = []
    for cell in cells(FOLDER / f"{name}.Notebook"):
        if cell.kind in ("CELL", "PARAMETERS CELL"):
            lines.append(cell.text)
        if cell.kind == "PARAMETERS CELL":
            lines += [f"{key} = {value!r}" for key, value in parameters.items()]
    source = folder / f"{name}.py"
    source.write_text("\n\n".join(lines))
    shown = Shown([], [], [])

    def display_html(text: str) -> None:
        if text.startswith("<p>"):
            shown.texts.append(html.unescape(text))
        else:
            shown.images.append(pixels(text))

    brought = {"display": shown.values.append, "displayHTML": display_html}
    runpy.run_path(str(source), init_globals={**session, **brought})
    return shown


def pixels(text: str) -> Any:
    """Return the image within HTML as an array of height, width and colour."""
    found = re.fullmatch(r'<img src="data:image/png;base64,([A-Za-z0-9+/=]+)"/>', text)
    assert found, text[:80]
    return np.asarray(matplotlib.image.imread(BytesIO(base64.b64decode(found[1])), format="png"))
