"""Clients of agents that other people run (protocols.md §3 and §4)."""
