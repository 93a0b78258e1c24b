"""Tools of models: what they do, what they may do, and where."""
