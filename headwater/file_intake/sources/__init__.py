"""Where files lie, one module each: which there are, what is in them, and their end."""
