"""Configuration: the config file, keys, rules for tools, room files, agent templates."""
