"""What a model gets: what was said, what is left out or summarised, and the working folder's guide."""
