"""The HTTP face of the backend: who may come in, and a routes module for each dialect."""
