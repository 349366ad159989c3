"""Rule 12.6: decide which lists of columns are complete. A newer complete list removes the columns that it lacks."""

import re

from headwater.lineage.edges.accounting import lists_some_columns
from headwater.lineage.edges.write_kinds import ADDS, LISTS_ALL, WHOLE, Write, write_kind
from headwater.lineage.runs.run_facts import DatasetUse, EventContent

READ, ADDED, UNLESS_PARTS, COMPLETE = range(4)
"""The authority of a list of columns, in ascending order.

READ: a reader sent the list. ADDED: the list adds columns. UNLESS_PARTS: the list is complete unless some event shows
that the dataset is written in parts. COMPLETE: the list is complete.
"""


def authority_of(content: EventContent, use: DatasetUse, *, is_output: bool) -> int:
    """Return the authority (READ to COMPLETE) of the schema that an event gives for a dataset.

    Only this event decides, so the order of events and other events make no difference.
    """
    if LISTS_ALL in content.write_signs and _is_settled(content) and not use.is_part and not _is_echo(content):
        return COMPLETE
    return _of_output(content, use) if is_output else READ


def _is_settled(content: EventContent) -> bool:
    return content.kind != "RUN" or content.type == "COMPLETE"


def _of_output(content: EventContent, output: DatasetUse) -> int:
    if content.kind != "RUN" or content.type != "COMPLETE" or content.processing in ("STREAMING", "SERVICE"):
        return ADDED
    if lists_some_columns(content.producer) or output.is_part:
        return ADDED
    if _is_echo(content):
        return READ
    if output.lifecycle == "ALTER" or any(map(_OF_TABLE.fullmatch, content.job.name.lower().split(".")[1:])):
        return COMPLETE
    alone = len(content.outputs) == 1
    write = Write(content.job.name, output.name, output.lifecycle, content.write_signs, output.is_part, alone)
    kind = write_kind(write)
    return ADDED if kind == ADDS else COMPLETE if kind == WHOLE else UNLESS_PARTS


def _is_echo(content: EventContent) -> bool:
    """Tell whether an event has the same inputs and outputs and no column lineage, as Spark's RDD jobs do."""
    if content.declared or any(use.lineage or use.declared for use in content.outputs):
        return False
    return {use.name for use in content.inputs} == {use.name for use in content.outputs}


_OF_TABLE = re.compile(
    r"(?:append_data|replace_data|replace_iceberg_data|write_delta|write_iceberg_delta|merge_rows"
    r"|(?:execute_)?(?:merge_into|update)(?:_command|_table)?(?:_edge)?)(?:_exec(?:_v\d)?)?"
)
"""Nodes of Spark's plan for which the listener reports the columns of the table, not those of the written rows."""
