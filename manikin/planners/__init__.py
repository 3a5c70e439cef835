"""Planners: they choose inputs by previewing them."""
