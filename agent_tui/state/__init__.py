"""What the screens show, computed from events alone: no clock, no I/O."""
