"""The reading API: answer questions over HTTP from lake, index and log."""
