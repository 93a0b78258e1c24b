"""What speaks for an agent: the ``Model`` protocol, the demo model, real providers."""
