"""Questions about lineage.

Each question is declared once, and is available over HTTP, as a command, to agents and in notebooks.
"""
