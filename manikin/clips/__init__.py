"""Motion clips: files and arrays, no physics."""
