"""The voice agent: a LiveKit AgentSession in a process of its own (extra ``voice-agent``)."""
