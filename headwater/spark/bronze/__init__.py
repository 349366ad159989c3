"""Records of a log and files of events into bronze, by Spark in place of the parser."""
