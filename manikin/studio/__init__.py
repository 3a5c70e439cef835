"""The studio: a local page where you grab the character."""
