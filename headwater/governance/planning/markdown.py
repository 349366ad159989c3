"""Format a plan as Markdown for a pull request. No I/O."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from headwater.governance.planning.findings import AffectedColumn, Outcome, PlanFinding

_MARKS: dict[Outcome, str] = {
    "breaks": "❌ breaks",
    "may break": "⚠️ may break",
    "safe": "✅ safe",
    "not known": "❔ not known",
}
_MAX_SHOWN = 20
_WORDS = {
    "drop_column": "drop column", "rename_column": "rename column", "retype_column": "change type of",
    "drop_table": "drop table", "rename_table": "rename table", "not_understood": "not understood:",
}  # fmt: skip


def plan_markdown(findings: Sequence[PlanFinding]) -> str:
    """Return a summary of a plan, a table with one row per change, and the details of each change's effects."""
    counts = Counter(each.outcome for each in findings)
    summary = ", ".join(f"{counts[outcome]} {mark}" for outcome, mark in _MARKS.items() if counts[outcome])
    lines = ["## Impact of this change", "", summary or "This change affects no known table.", ""]
    if findings:
        lines += ["| | change | columns | jobs | consumers | contracts |", "|---|---|---|---|---|---|"]
        lines += [
            f"| {_MARKS[each.outcome]} | {_escape_markdown(change_text(each))} | {_counts_text(each)} |"
            for each in findings
        ]
    for each in findings:
        lines += _details_lines(each)
    return "\n".join(lines) + "\n"


def change_text(finding: PlanFinding) -> str:
    """Describe a change, such as `drop column silver.orders#amount`, with the display name of the dataset."""
    name = (finding.display_name or finding.dataset) + (f"#{finding.column}" if finding.column else "")
    after = f" to {finding.after}" if finding.after else ""
    before = f" from {finding.before}" if finding.before and finding.change == "retype_column" else ""
    return f"{_WORDS[finding.change]} {name}{before}{after}"


def column_text(column: AffectedColumn) -> str:
    """Return a column as `DATASET#COLUMN`, or only the dataset if the column is None, by display name."""
    return (column.display_name or column.dataset) + (f"#{column.column}" if column.column else "")


def _counts_text(finding: PlanFinding) -> str:
    lists = (finding.columns, finding.jobs, finding.consumers, finding.contracts)
    return " | ".join(str(len(each)) for each in lists)


def _details_lines(finding: PlanFinding) -> Iterable[str]:
    parts: dict[str, Sequence[str]] = {
        "columns": [column_text(each) for each in finding.columns],
        "jobs": finding.jobs,
        "consumers": finding.consumers,
        "contracts": finding.contracts,
        "owners": finding.owners,
    }
    if any(parts.values()) or finding.note:
        yield from ("", f"<details><summary>{_escape_html(change_text(finding))}</summary>", "")
        if finding.note:
            yield from (_escape_markdown(finding.note), "")
        for what, listed in parts.items():
            if listed:
                more = f", … and {len(listed) - _MAX_SHOWN} more" if len(listed) > _MAX_SHOWN else ""
                yield f"- {what}: {', '.join(map(_inline_code, listed[:_MAX_SHOWN]))}{more}"
        yield from ("", "</details>")


def _inline_code(text: str) -> str:
    """Return text as inline code, even if it contains backticks, bars or line breaks."""
    plain = " ".join(text.split()).replace("|", "\\|")
    longest = max((len(each) for each in re.findall("`+", plain)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if longest else ""
    return f"{fence}{pad}{plain}{pad}{fence}"


def _escape_markdown(text: str) -> str:
    return _escape_html(re.sub(r"([\\`*_{}\[\]|#!])", r"\\\1", " ".join(text.split())))


def _escape_html(text: str) -> str:
    plain = " ".join(text.split())
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("@", "&#64;")
