"""What a session's own code calls of the doors: stamps, the harness, the plugin's flush (docs/doors.md)."""
