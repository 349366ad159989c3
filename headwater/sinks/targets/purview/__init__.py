"""Microsoft Purview: Atlas entities, their names by rules, and what the account has already."""
