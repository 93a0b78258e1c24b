"""Clients of a voice session: a LiveKit room, or one agent over LiveKit's console transport."""
