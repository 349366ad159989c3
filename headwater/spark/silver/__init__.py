"""Bronze to silver: runs, what they say of each output, what names mean, and the state of a pass."""
