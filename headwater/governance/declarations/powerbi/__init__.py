"""Declarations from semantic models of Power BI and Fabric, by scan results or lists of semantic link."""
