"""Connections to targets: HTTP, storage folders and Kafka topics, with authentication and secrets."""
