"""Reports of what a target cannot represent."""
