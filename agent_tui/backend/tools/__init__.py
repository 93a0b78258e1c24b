"""What models may do besides speaking: tools, what they are allowed, where they may work."""
