"""The columns of one dataset by rule 12: the lists that silver keeps of it, and what they make together."""

from collections.abc import Sequence

from headwater.lineage.edges.joined_lists import is_joined, joined_columns, joined_hash, lists_in
from headwater.lineage.edges.schema_columns import Path, column_key
from headwater.lineage.edges.schema_history import KnownLists, SeenSchema
from headwater.spark.silver.content_texts import exact_keys, read_columns
from headwater.spark.silver.texts import text_of


class DatasetLists:
    """The lists that make up the columns of a dataset; texts: by hash, their columns."""

    def __init__(self, by_parts: bool) -> None:
        """Know no list; by_parts: some event mentions a part of the dataset."""
        self.by_parts = by_parts
        self.known = KnownLists(by_parts=by_parts)
        self.texts: dict[str, str] = {}

    def take(self, seen: SeenSchema, text: str) -> None:
        """Take a mention, and its columns as text."""
        self.known.take(seen)
        self.texts[seen.schema] = text

    @property
    def schema(self) -> str | None:
        """The hash that stands for all of them; None without a list."""
        schemas = self.known.schemas
        return joined_hash(schemas, self._paths) if schemas else None

    @property
    def columns(self) -> str | None:
        """The columns that they make together, as text."""
        schema = self.schema
        if schema is None or not is_joined(schema):
            return self.texts[schema] if schema else None
        return text_of(joined_columns([self._paths(each) for each in lists_in(schema)]))

    def differs(self, schema: str) -> tuple[bool, bool]:
        """Tell whether a list has a column that is not known yet, and whether it is other than all lists together."""
        columns = self.columns
        if columns is None or schema not in self.texts:
            return True, True
        own, known = (
            {column_key(".".join(path), exact_keys(columns)) for path in read_columns(text)}
            for text in (self.texts[schema], columns)
        )
        return not own <= known, own != known

    def _paths(self, schema: str) -> Sequence[Path]:
        return read_columns(self.texts[schema])
