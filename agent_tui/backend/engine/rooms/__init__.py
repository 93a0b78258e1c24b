"""What only rooms have."""
