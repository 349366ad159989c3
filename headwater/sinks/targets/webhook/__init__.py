"""Webhook: small signed notices about failed and lost runs, changed schemas and other findings."""
