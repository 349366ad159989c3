"""The tables of the index file, one module for each table or group of tables."""
