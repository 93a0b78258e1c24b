"""What is done with rooms alone."""
