"""The index as questions see it: the live graph, the past, the catalogue, search."""
