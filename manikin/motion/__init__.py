"""Motion data made ready for control: keyframes, retargeting, nearest poses."""
