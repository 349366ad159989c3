"""Answer questions from silver and gold in a notebook, and plot the answers."""
