"""Bronze to index: one writer, a batch in a transaction."""
