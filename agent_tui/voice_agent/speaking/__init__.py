"""Speaking: text made speakable, clause by clause, for an offline voice."""
