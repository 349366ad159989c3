"""What people ask of sinks and order them, a replay included."""
