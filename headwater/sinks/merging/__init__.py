"""Whole runs and whole applications, for targets that take no single events."""
