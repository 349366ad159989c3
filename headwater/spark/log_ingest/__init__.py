"""Write bronze with Spark instead of the parser, from the records of a log or from files of events."""
