"""What is spoken of, as plain data that every layer may know."""
