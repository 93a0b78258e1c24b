"""The agent that people talk with: a LiveKit AgentSession in a process of its own (extra ``voice-agent``)."""
