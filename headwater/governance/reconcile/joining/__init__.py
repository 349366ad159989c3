"""Matches executions and commits with reported runs. No I/O."""
