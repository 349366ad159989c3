"""A copy of log and lake that belong together, made while Headwater runs, and its way back."""
