"""The world and its equations of motion."""
