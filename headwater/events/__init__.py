"""What an OpenLineage event is: envelope, facets, event id, redaction, the rows of one event. Pure: no I/O."""
