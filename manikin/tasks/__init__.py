"""Tasks: what is measured times the law of what is wanted."""
