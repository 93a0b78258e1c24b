"""What a model is told: what was said, what is left out or summarised, what the working folder says."""
