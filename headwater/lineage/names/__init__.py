"""Rules 2, 3.1 and 10: canonical names, symlinks, and generations of datasets."""
