from __future__ import annotations

from tests.parsed_css import parse_once

parse_once()
