"""The voice screen and its commands."""
