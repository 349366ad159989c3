"""Who a request is of: keys in settings and in a file, tokens of an OIDC issuer, sessions of the dashboard."""
