"""What a target cannot hold of what events say."""
