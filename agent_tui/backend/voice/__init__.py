"""The backend's part of voice: its LiveKit server, tokens for it, and the agent."""
