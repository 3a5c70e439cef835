"""Tasks: a measure (what is controlled) combined with a law (how)."""
