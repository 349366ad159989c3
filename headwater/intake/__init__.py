"""The way in: HTTP requests and files become records of the event log, and the parser writes them to bronze."""
