"""What counted when: validity of edges, and snapshots that questions ask."""
