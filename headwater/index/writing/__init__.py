"""The writer of the index: it processes each batch of bronze in one transaction."""
