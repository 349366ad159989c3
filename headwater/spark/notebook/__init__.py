"""What people ask of silver and gold in a notebook, and plots of the answers."""
