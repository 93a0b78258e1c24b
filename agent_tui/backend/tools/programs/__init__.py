"""Programs that tools start: their environment, and how they are ended."""
