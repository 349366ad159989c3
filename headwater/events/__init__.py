"""OpenLineage events: envelope, facets, event id, redaction, and the conversion to rows. No I/O except event files."""
