"""Hearing: when to decode, how, and which words to trust."""
