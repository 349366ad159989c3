"""Rules that users declare in addition to events, and the version of all rules."""
