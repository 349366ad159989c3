"""Rules 4, 5, 6, 11 and 12: what a run says of its outputs, which of it counts, and which columns are one."""
