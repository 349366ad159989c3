"""HTTP for reading: what the lake and the log can answer."""
