"""Readers of job history, one module for each kind of system."""
