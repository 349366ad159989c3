"""Functions for offline ingestion that a Spark session calls: stamp, harness and the plugin's flush (docs/doors.md)."""
