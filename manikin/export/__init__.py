"""Export: save(take, path) by extension."""
