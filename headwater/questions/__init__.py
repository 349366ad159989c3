"""Questions about lineage. Each is declared once and serves HTTP, commands, agents and notebooks."""
