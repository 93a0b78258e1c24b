"""What the agent hears with: when to decode, how, and what to believe of it."""
