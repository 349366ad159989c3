"""Functions for offline ingestion that a Spark session calls: stamp, harness and the plugin's flush.

See docs/how-to/data-engineer/offline-ingestion.md.
"""
