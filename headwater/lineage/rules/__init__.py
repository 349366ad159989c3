"""What users declare beside the events, and the version of all rules."""
