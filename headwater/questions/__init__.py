"""Questions about lineage, each declared once: what it is asked with, what it answers, and how that is found."""
