"""The tables of the index file, one module for each topic."""
