"""The question `incidents`: root causes of failures and of late or broken data, with what they affect."""
