"""Clients of agents that others run (protocols.md §3 and §4)."""
