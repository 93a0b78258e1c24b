"""The embedded server, a process of its own. The screen starts it and never imports it."""
