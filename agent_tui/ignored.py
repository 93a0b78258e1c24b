"""What .gitignore files exclude from the files below a folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

MAX_IGNORE_BYTES: Final = 100_000  # of one file; what follows is not read
MAX_STARS: Final = 3  # in one pattern; with more, matching a long name can take very long
MAX_PATTERN_CHARACTERS: Final = 500


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules in effect in a folder: for each .gitignore on the way, its folder and its rules."""

    rules: tuple[tuple[str, GitIgnoreSpec], ...] = ()

    def below(self, folder: str, gitignore: bytes) -> IgnoreRules:
        """Return the rules in effect in ``folder``, whose own file begins with ``gitignore``."""
        from pathspec import GitIgnoreSpec  # lazy: neither program needs it when it starts

        kept = []
        for line in gitignore[:MAX_IGNORE_BYTES].decode("utf-8", "replace").splitlines():
            if not is_costly(line):
                try:
                    GitIgnoreSpec.from_lines([line])
                except ValueError:
                    continue  # git ignores such lines, too
                kept.append(line)
        return IgnoreRules((*self.rules, (folder, GitIgnoreSpec.from_lines(kept)))) if kept else self

    def leave_out(self, path: str, *, is_folder: bool) -> bool:
        """Return whether the rules exclude ``path``; paths and folders are relative to the same folder."""
        for folder, rules in reversed(self.rules):  # the nearest file with a matching rule decides
            inside = path[len(folder) + 1 :] if folder else path
            is_ignored = rules.check_file(f"{inside}/" if is_folder else inside).include
            if is_ignored is not None:
                return is_ignored
        return False


def is_costly(pattern: str) -> bool:
    """Return whether matching the pattern could take very long."""
    stars = max(pattern.replace("**", "").count("*"), pattern.count("**"))
    return len(pattern) > MAX_PATTERN_CHARACTERS or stars > MAX_STARS
