"""What the user sees, computed from events alone: no clock, no I/O."""
