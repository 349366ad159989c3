"""Ingestion of event files: sends each event once to a receiver, for producers that can only write to storage."""
