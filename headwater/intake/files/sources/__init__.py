"""Stores of files, one module each: listing, reading and deleting files."""
