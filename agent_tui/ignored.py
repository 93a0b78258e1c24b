"""What .gitignore files leave out of the files below a folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

MAX_IGNORE_BYTES: Final = 100_000  # of one file; what follows is not read
MAX_STARS: Final = 3  # in one pattern: with more of them, matching a long name can take very long
MAX_PATTERN_CHARACTERS: Final = 500


@dataclass(frozen=True, slots=True)
class Ignored:
    """The rules that hold in a folder: of each .gitignore on the way, the folder it is in and its own."""

    rules: tuple[tuple[str, GitIgnoreSpec], ...] = ()

    def below(self, folder: str, gitignore: bytes) -> Ignored:
        """Return the rules that hold in ``folder``, whose own file begins with ``gitignore``."""
        from pathspec import GitIgnoreSpec  # lazy: neither program needs it at its start

        kept = []
        for line in gitignore[:MAX_IGNORE_BYTES].decode("utf-8", "replace").splitlines():
            if not is_costly(line):
                try:
                    GitIgnoreSpec.from_lines([line])
                except ValueError:
                    continue  # git ignores such lines as well
                kept.append(line)
        return Ignored((*self.rules, (folder, GitIgnoreSpec.from_lines(kept)))) if kept else self

    def leave_out(self, path: str, *, is_folder: bool) -> bool:
        """Return whether they leave out ``path``; paths and folders are relative to the same folder."""
        for folder, rules in reversed(self.rules):  # the nearest file that says something decides
            inside = path[len(folder) + 1 :] if folder else path
            said = rules.check_file(f"{inside}/" if is_folder else inside).include
            if said is not None:
                return said
        return False


def is_costly(pattern: str) -> bool:
    """Return whether matching the pattern could take very long."""
    stars = max(pattern.replace("**", "").count("*"), pattern.count("**"))
    return len(pattern) > MAX_PATTERN_CHARACTERS or stars > MAX_STARS
