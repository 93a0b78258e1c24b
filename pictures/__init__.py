"""The pictures of README and docs, made by ``python -m pictures``."""
