"""Rule 12: compute the columns of one dataset from the lists of columns that silver stores for this dataset."""

from collections.abc import Sequence

from headwater.lineage.edges.schema_columns import (
    Path,
    column_key,
    is_joined_hash,
    join_column_lists,
    join_schema_hashes,
    split_schema_hash,
)
from headwater.lineage.edges.schema_history import DatasetColumnLists, SchemaMention
from headwater.spark.silver.content_texts import ambiguous_keys, read_columns
from headwater.spark.silver.texts import json_text


class JoinedColumnLists:
    """The lists of columns that together make up the columns of a dataset.

    by_parts: some event mentions a part of the dataset. known: the mentions of lists.
    texts: the columns of each list as JSON, by hash of the list.
    """

    def __init__(self, by_parts: bool) -> None:
        """by_parts: some event mentions a part of the dataset."""
        self.by_parts = by_parts
        self.known = DatasetColumnLists(has_parts=by_parts)
        self.texts: dict[str, str] = {}

    def add(self, mention: SchemaMention, text: str) -> None:
        """Add a mention of a list. text: the columns of this list as JSON."""
        self.known.add_mention(mention)
        self.texts[mention.schema] = text

    @property
    def schema_hash(self) -> str | None:
        """The hash of the joined lists, or None if there are no lists."""
        schemas = self.known.schema_hashes
        return join_schema_hashes(schemas, self._paths) if schemas else None

    @property
    def columns_json(self) -> str | None:
        """The columns of the joined lists as JSON, or None if there are no lists."""
        schema = self.schema_hash
        if schema is None or not is_joined_hash(schema):
            return self.texts[schema] if schema else None
        return json_text(join_column_lists([self._paths(each) for each in split_schema_hash(schema)]))

    def compare(self, schema: str) -> tuple[bool, bool]:
        """Compare a list with the joined lists. schema: the hash of the list.

        Returns whether the list adds a column, and whether its columns differ from the columns of the joined lists. If
        the list is unknown, both values are True.
        """
        columns = self.columns_json
        if columns is None or schema not in self.texts:
            return True, True
        listed, known = (
            {column_key(".".join(path), ambiguous_keys(columns)) for path in read_columns(text)}
            for text in (self.texts[schema], columns)
        )
        return not listed <= known, listed != known

    def _paths(self, schema: str) -> Sequence[Path]:
        return read_columns(self.texts[schema])
