"""Rules 2 and 10: which dataset a name means, by its form, in time, and in which generation."""
