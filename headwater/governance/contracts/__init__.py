"""Data contracts: generated from observed facts, and checked against them. No I/O except reading files."""
