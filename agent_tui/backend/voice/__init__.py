"""The backend's part of voice: the LiveKit server it runs, tokens for it, and the agent beside it."""
