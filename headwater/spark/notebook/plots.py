"""Plot the answers to the five questions. For `displayHTML` of Fabric and Databricks, convert a plot with `as_html`."""

import base64
import io
from collections import defaultdict
from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from headwater.spark.notebook.notebook_questions import Reached

CLEAR, MASKED, UNKNOWN, REACHED, ASKED = "#c0392b", "#2e86ab", "#8d99ae", "#5c677d", "#2b2d42"
"""Colours of unmasked, masked and unknown values, of the columns in the answer, and of the selected column."""

COLUMNS = 60
DATASETS = 25
"""Maximum number of columns or datasets in a plot. The title of the plot contains the total number."""

_Point = tuple[float, float]
_Node = tuple[str, str, str | None]


def draw_reach(found: Reached, title: str) -> Figure:
    """Draw the reached columns by distance, each with a line for the last step to the column.

    The colour of the line shows whether every path to the column has a masking step. A dashed outline marks columns in
    datasets at which lineage stops.
    """
    shown = found.columns.head(COLUMNS)
    places = _positions(found.asked, shown)
    height = (
        max(2.5, 0.45 * max(len(column) for column in _nodes_by_distance(shown).values()) + 1.5) if len(shown) else 2.5
    )
    figure = Figure(figsize=(3.6 * (1 + max(shown["distance"], default=0)) + 1.5, height))
    axes = figure.add_subplot()
    for row in shown.itertuples():
        here, there = places[_node(row)], places.get((row.via_namespace, row.via_dataset, row.via_column), (0.0, 0.0))
        axes.plot(
            [there[0], here[0]],
            [there[1], here[1]],
            color=MASKED if row.masked_on_the_way else CLEAR,
            linewidth=1.2,
            zorder=1,
        )
    reached = {_node(row) for row in shown.itertuples()}
    stops = {(row.namespace, row.dataset) for row in found.stops.itertuples()}
    for node, (x, y) in places.items():
        edge = {"edgecolor": UNKNOWN, "linestyle": "--"} if node[:2] in stops else {"edgecolor": "none"}
        box = {"boxstyle": "round", "facecolor": REACHED if node in reached else ASKED, **edge}
        axes.text(x, y, _label(node), color="white", fontsize=7, ha="center", va="center", bbox=box)
    axes.set_xlim(-0.6, max((x for x, _ in places.values()), default=0) + 0.6)
    axes.axis("off")
    _title(axes, title, len(shown), len(found.columns), "columns or more" if found.truncated else "columns")
    return figure


def draw_surface(found: pd.DataFrame) -> Figure:
    """Draw how many columns of each dataset are exposed, unknown or masked."""
    return _draw_bars(found, "exposure", {"exposed": CLEAR, "unknown": UNKNOWN, "masked": MASKED}, "Masking surface")


def draw_unused(found: pd.DataFrame) -> Figure:
    """Draw how many columns of each dataset are used, unused or unknown."""
    return _draw_bars(found, "verdict", {"used": MASKED, "unknown": UNKNOWN, "unused": CLEAR}, "Columns by verdict")


def draw_diff(found: pd.DataFrame) -> Figure:
    """Draw how many edges into each dataset were added, removed, or changed in masking."""
    changes = found.rename(columns={"target_namespace": "namespace", "target_dataset": "dataset"})
    return _draw_bars(changes, "change", {"added": MASKED, "changed": UNKNOWN, "removed": CLEAR}, "Edges that changed")


def as_html(figure: Figure) -> str:
    """Return a figure as an HTML element with an image."""
    image = io.BytesIO()
    figure.savefig(image, format="png", dpi=110, bbox_inches="tight")
    return f'<img src="data:image/png;base64,{base64.b64encode(image.getvalue()).decode()}"/>'


def _draw_bars(found: pd.DataFrame, word: str, colours: Mapping[str, str], title: str) -> Figure:
    counts: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: dict.fromkeys(colours, 0))
    for namespace, dataset, kind in found[["namespace", "dataset", word]].itertuples(index=False):
        counts[namespace, dataset][kind] += 1
    shown = sorted(counts, key=lambda name: -sum(counts[name].values()))[:DATASETS]
    figure = Figure(figsize=(8, max(2.5, 0.35 * len(shown) + 1.5)))
    axes = figure.add_subplot()
    rows, left = range(len(shown)), [0] * len(shown)
    for kind, colour in colours.items():
        widths = [counts[name][kind] for name in shown]
        axes.barh(rows, widths, left=left, color=colour, label=kind)
        left = [sum(both) for both in zip(left, widths, strict=True)]
    axes.set_yticks(rows, [_escape_name(dataset) for _, dataset in shown])
    axes.invert_yaxis()
    axes.set_xlabel("edges" if word == "change" else "columns")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(loc="lower right", fontsize=7)
    _title(axes, title, len(shown), len(counts), "datasets")
    return figure


def _positions(asked: _Node, shown: pd.DataFrame) -> dict[_Node, _Point]:
    """Return the position (x, y) of each column. x is the distance, and y separates columns with the same distance."""
    found: dict[_Node, _Point] = {asked: (0.0, 0.0)}
    for distance, nodes in _nodes_by_distance(shown).items():
        for number, node in enumerate(nodes):
            found.setdefault(node, (float(distance), (len(nodes) - 1) / 2 - number))
    return found


def _nodes_by_distance(shown: pd.DataFrame) -> Mapping[int, Sequence[_Node]]:
    levels: dict[int, list[_Node]] = defaultdict(list)
    for row in shown.itertuples():
        levels[row.distance].append(_node(row))
    return levels


def _node(row: object) -> _Node:
    return row.namespace, row.dataset, row.column  # type: ignore[attr-defined]


def _label(node: _Node) -> str:
    table = "/".join(node[1].rstrip("/").split("/")[-2:])
    return _escape_name(f"{table}\n{node[2]}" if node[2] else table)


def _escape_name(text: str) -> str:
    """Escape a name for a plot: `$` would start a formula, and the font lacks some characters."""
    plain = "".join(each if each.isprintable() or each == "\n" else ascii(each)[1:-1] for each in text)
    return plain.encode("latin-1", "backslashreplace").decode("latin-1").replace("$", r"\$")


def _title(axes: Axes, title: str, shown: int, total: int, unit: str) -> None:
    count = f"{total} {unit}"
    axes.set_title(f"{_escape_name(title)}: {count}" + (f", {shown} drawn" if shown < total else ""), fontsize=9)
