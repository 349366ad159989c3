"""Finds executions and writes without lineage by comparing job history and Delta commits with reported runs."""
