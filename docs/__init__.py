"""The pages beside the README; ``python -m docs`` writes the parts of them that are computed."""
