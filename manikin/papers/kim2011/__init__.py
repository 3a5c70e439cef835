"""Kim & Pollard 2011: direct control of non-human characters, as claims."""
