"""Copies of the index in the lake: who starts without one takes the newest that fits, and follows bronze from there."""
