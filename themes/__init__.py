"""The colour themes, as data: one TOML file each."""
