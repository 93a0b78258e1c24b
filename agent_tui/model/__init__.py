"""Plain data that every layer may use: events, records, settings, errors."""
