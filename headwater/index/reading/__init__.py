"""Read access to the index for questions: the live graph, the past, the catalog and search."""
