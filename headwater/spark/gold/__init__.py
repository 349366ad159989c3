"""Derive gold from silver: edges and the periods in which they counted, masking surface, unused columns, run health."""
