"""Linear algebra of control: arrays in, arrays out."""
