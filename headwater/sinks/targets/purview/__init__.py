"""Microsoft Purview: Atlas entities, qualified names by rules, and existing assets of the account."""
