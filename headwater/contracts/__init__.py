"""Data contracts: what is promised of datasets, held against what is observed. Pure but for reading files."""
