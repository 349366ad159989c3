"""Alerts: messages about incidents to people, in Slack, Microsoft Teams and e-mail, and as JSON to a webhook."""
