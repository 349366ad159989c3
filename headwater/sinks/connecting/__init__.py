"""Connections to HTTP targets: persistent connection, authentication, secrets."""
