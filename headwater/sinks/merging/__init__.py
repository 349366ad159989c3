"""Merge events to whole runs and applications, for targets that do not accept single events."""
