"""The parser: moves records from the event log to the bronze tables, exactly once."""
