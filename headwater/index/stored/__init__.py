"""The index's file, table by table."""
