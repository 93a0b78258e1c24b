"""The HTTP API of the backend: access control, and a routes module for each dialect."""
