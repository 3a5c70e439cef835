"""Planners: they choose what to ask for, by thinking or by trying ahead."""
