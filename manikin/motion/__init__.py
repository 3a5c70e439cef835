"""Motion data made useful: keyframes, nearest poses."""
