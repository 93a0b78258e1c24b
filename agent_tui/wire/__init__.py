"""What travels: one module per protocol, bytes to events and events to bytes. Pydantic lives here."""
