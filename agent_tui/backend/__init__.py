"""The embedded server, a process of its own. The screen never imports it: it starts it."""
