"""Apply the rules of users about whole rewrites (6.7), masking and constants, which override what events report."""

from typing import Literal, NamedTuple

from msgspec.structs import replace

from headwater.lineage.edges.accounted_columns import ALL_COLUMNS
from headwater.lineage.edges.candidates import JobOutput
from headwater.lineage.edges.output_lineage import Edge, OutputLineage
from headwater.lineage.edges.write_kinds import ADDS_ROWS, WHOLE_REWRITE, is_whole_rewrite
from headwater.lineage.rules.selectors import SelectedColumn
from headwater.lineage.rules.user_rules import UserRules

RewriteEvidence = Literal["declared", "committed", "reported"]
"""The evidence for a whole rewrite: `rewrites.yaml`, a Delta commit, or the events of the run."""


class ReportedWrite(NamedTuple):
    """A write of one run, as events and Delta commits report it.

    producer: the producer of the run. run_key: the key of the run.
    kind: the kind of the write that the events report, one of `WRITE_KINDS`.
    is_proven_whole: True if commits prove a whole rewrite, False if they disprove it, None if no commit proves either.
    """

    producer: str
    run_key: str
    kind: int
    is_proven_whole: bool | None


def decide_write_kind(rules: UserRules, job_output: JobOutput, write: ReportedWrite) -> int:
    """Return the kind of a write, one of `WRITE_KINDS`.

    For observed runs, a rule of `rewrites.yaml` decides first, then a commit, then the events. For declarations and
    attempts, only the events decide.
    """
    producer, run_key, kind, is_whole = write
    if job_output.output is None or job_output.layer != "observed":
        return kind
    writes = rules.declared_write(producer, job_output.job.name, run_key, job_output.output)
    if writes is not None:
        return WHOLE_REWRITE if writes == "whole" else ADDS_ROWS
    return kind if is_whole is None else WHOLE_REWRITE if is_whole else ADDS_ROWS


def find_rewrite_evidence(
    rules: UserRules, job_output: JobOutput, write: ReportedWrite, *, has_parts: bool
) -> RewriteEvidence | None:
    """Return the evidence that a write is a whole rewrite; None if the write is not a whole rewrite.

    has_parts: whether some event shows that the dataset is written in parts.
    """
    if not is_whole_rewrite(decide_write_kind(rules, job_output, write), has_parts=has_parts):
        return None
    if decide_write_kind(rules, job_output, write._replace(kind=ADDS_ROWS, is_proven_whole=None)) == WHOLE_REWRITE:
        return "declared"
    return "committed" if write.is_proven_whole else "reported"


def apply_masking_rules(rules: UserRules, job_output: JobOutput, lineage: OutputLineage) -> OutputLineage:
    """Return the lineage of an output after the user's rules set which edges mask and which columns are constants.

    Columns that `constants.yaml` declares move from the unaccounted columns to the columns without sources.
    """
    lineage = _account_for_constants(rules, lineage)
    if not rules.masking or lineage.output is None:
        return lineage
    edges = tuple(_apply_rules_to_edge(rules, job_output, lineage, edge) for edge in lineage.edges)
    return lineage if edges == lineage.edges else replace(lineage, edges=edges)


def _account_for_constants(rules: UserRules, lineage: OutputLineage) -> OutputLineage:
    output, unaccounted = lineage.output, lineage.unaccounted_columns
    if output is None or not unaccounted or not rules.constants or unaccounted == (ALL_COLUMNS,):
        return lineage
    constants = {key for key in unaccounted if rules.is_constant(output, key)}
    remaining = tuple(key for key in unaccounted if key not in constants)
    return replace(
        lineage,
        unaccounted_columns=remaining,
        sourceless_columns=tuple(sorted(constants.union(lineage.sourceless_columns))),
    )


def _apply_rules_to_edge(rules: UserRules, job_output: JobOutput, lineage: OutputLineage, edge: Edge) -> Edge:
    assert lineage.output is not None  # noqa: S101 - the caller looked
    output = SelectedColumn(*lineage.output.parts, edge.target or "")
    source = SelectedColumn(*edge.source.parts, edge.column)
    declared = rules.declared_masking(job_output.job.name, output, source, edge.transformation.description or "")
    return edge if declared is None else replace(edge, transformation=edge.transformation._replace(is_masked=declared))
