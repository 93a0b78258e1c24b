"""Where the calls of a protocol are: the paths of cli.md, each of which an existing deployment may move."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote

from agent_tui.model.errors import ConfigError, NotFound
from agent_tui.model.inert import inert_line

_PLACE = re.compile(r"\{\w+\}")


class Paths:
    """Templates with a place for each id they need; ``paths`` replaces some of the ``defaults``.

    ``places`` says for a person what belongs into each place. Raises ``ConfigError`` for an unusable path.
    """

    def __init__(
        self, defaults: Mapping[str, str], places: Mapping[str, str], paths: Mapping[str, str]
    ) -> None:
        for name, path in paths.items():
            shown = inert_line(f"paths.{name}")
            if name not in defaults:
                raise ConfigError(f"{shown} is not a path we use", f"Known: {', '.join(defaults)}.")
            if not path.startswith("/"):
                raise ConfigError(f"{shown} must begin with /", inert_line(path))
            for place in _PLACE.findall(defaults[name]):
                if place not in path:
                    raise ConfigError(f"{shown} must have {place} for {places[place]}", inert_line(path))
        self._defaults = defaults
        self._places = places
        self._paths = {**defaults, **paths}

    def of(self, name: str, *ids: str) -> str:
        """Return the path of one call, ``ids`` in the order of their places in the defaults.

        Raises ``NotFound`` for an empty id, which would name another call.
        """
        path = self._paths[name]
        for place, id_ in zip(_PLACE.findall(self._defaults[name]), ids, strict=True):
            if not id_:
                raise NotFound(f"a path needs {self._places[place]}")
            path = path.replace(place, _encoded(id_))
        return path

    def places(self, name: str) -> int:
        """Return how many ids the path of one call has."""
        return len(_PLACE.findall(self._defaults[name]))


def _encoded(id_: str) -> str:
    encoded = quote(id_, safe="", errors="replace")
    if encoded.strip("."):
        return encoded
    return encoded.replace(".", "%2E")  # "." and ".." would be taken for steps in the path
