"""What belongs together, and what does not: pure, without a file or a network."""
