"""Programs that tools start: what they may know, and that they end."""
