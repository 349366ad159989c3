"""Authentication: keys in the settings and in a file, tokens of an OIDC issuer, sessions of the dashboard."""
