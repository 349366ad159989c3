"""Headwater: an ingestion pipeline for OpenLineage that loses nothing and answers column-level questions."""
