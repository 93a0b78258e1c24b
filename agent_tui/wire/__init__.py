"""The protocols: one module for each, bytes to events and events to bytes. Pydantic is used only here."""
