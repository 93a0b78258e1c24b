"""Models: the ``Model`` protocol, the demo model, real providers, agents of others."""
