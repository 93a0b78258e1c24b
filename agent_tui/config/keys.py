"""API keys in the system's keyring: under the service ``agent-tui`` and the provider's name.

``keyring`` asks other programs over D-Bus and may wait for a person who unlocks it: call these in a thread.
It is imported here on first use, because it looks for its backends then.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import ModuleType

from agent_tui.model.errors import ConfigError

SERVICE = "agent-tui"
_INSTEAD = "use api_key_env in the config file: the key then comes from the environment"


@contextmanager
def _keyring() -> Iterator[ModuleType]:
    """Yield the system's keyring; raises ``ConfigError`` if it does not work."""
    import keyring
    from keyring.errors import KeyringError

    try:
        yield keyring
    except (KeyringError, OSError, RuntimeError) as error:
        # Only the type of the error: its text may contain what was to be kept.
        detail = f"{type(error).__name__}; {_INSTEAD}"
        raise ConfigError("this system's keyring cannot be used", detail) from None


def read_key(provider: str) -> str:
    """Return the provider's key, "" if there is none; raises ``ConfigError`` without a keyring."""
    with _keyring() as keyring:
        return keyring.get_password(SERVICE, provider) or ""


def keyring_fault() -> str:
    """Return why the system has no usable keyring; "" if it has one. Asks it for a key."""
    import keyring
    from keyring.backends.null import Keyring as Null

    if isinstance(keyring.get_keyring(), Null):
        return "it is switched off"
    try:
        read_key("check")
    except ConfigError as error:
        return error.title
    return ""


def store_key(provider: str, key: str) -> None:
    """Store the provider's key; raises ``ConfigError`` if the system has no keyring that takes it."""
    with _keyring() as keyring:
        keyring.set_password(SERVICE, provider, key)


def forget_key(provider: str) -> None:
    """Delete the provider's key, if there is one; raises ``ConfigError`` without a keyring."""
    with _keyring() as keyring, suppress(keyring.errors.PasswordDeleteError):  # there was none
        keyring.delete_password(SERVICE, provider)
