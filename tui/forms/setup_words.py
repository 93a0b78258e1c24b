"""What the set-up screen says."""

from __future__ import annotations

from typing import Final

from agent_tui.model.errors import AgentTuiError, TransportError
from tui.language import translated, translated_count
from tui.screens.localised import localised
from widgets.units import decimal

WORDS: Final = {
    "title": "Connect a model",
    "which": "provider",
    "which.new": "new",
    "which.change": "edit {name}",
    "kind": "kind",
    "kind.openai": "OpenAI-compatible",
    "kind.ollama": "Ollama",
    "kind.here": "{name}, on this machine",
    "address": "address",
    "key": "key",
    "key.hint": "saved in the system's keyring; may be empty",
    "key.hint.file": "saved in the config file; may be empty",
    "key.no_keyring": "There is no keyring here ({why}). A key you type is saved in {path},"
    " which only you can read. An environment variable keeps it out of files.",
    "key.kept": "saved – type another one to replace it",
    "variable": "or variable",
    "variable.hint": "the environment variable that holds the key",
    "name": "name",
    "limit": "answer limit",
    "limit.hint": "in tokens; empty: the model's limit",
    "wrong_limit": "enter a number of tokens, or leave it empty",
    "timeout": "timeout",
    "timeout.hint": "seconds without a token; 600 on this machine, else 120",
    "wrong_timeout": "enter a number of seconds above 0",
    "hint": "enter test · tab next · {setup.save_untested} save without a test · {setup.back} back"
    " · {app.help.anywhere} help",
    "hint.kept": "enter test · tab next · {setup.save_untested} save without a test · {setup.remove} remove"
    " · {setup.back} back · {app.help.anywhere} help",
    "testing": "testing {address} …",
    "testing.hint": "{setup.back} stop",
    "models": "{count} models found. Choose the default model",
    "models.one": "1 model found. Choose the default model",
    "models.none": "Connected, but there are no models: load one there and test again"
    " · {setup.save_untested} saves it anyway",
    "models.unlisted": "{error}. Type the name of a model",
    "models.hint": "{setup.previous} {setup.next} choose · enter test it and save · {setup.back} back",
    "filter": "type to search, or enter another model's name",
    "filter.unlisted": "name of a model",
    "stopped": "test stopped",
    "trying": "testing {model} …",
    "saved": "saved as [providers.{name}] in {path}",
    "saved.no_tools": "saved as [providers.{name}] in {path};"
    " this model cannot use tools: chats and rooms go without",
    "saved.untested": "saved as [providers.{name}] in {path}, not tested",
    "saved.no_model": "no model chosen: {press} chooses one",
    "saved.no_model.openai": "no model chosen, so gpt-4 is asked for: {press} chooses one",
    "remove.none": "choose an existing provider in the first line to remove it",
    "remove.question": "Remove {name}? Agents that use it cannot answer until it is set up again.",
    "removed": "[providers.{name}] removed from {path}",
    "no_name": "enter a name of letters, digits, - and _",
    "taken": "the config file already has a provider called {name}: choose another name",
    "two_keys": "enter a key or a variable, not both",
    "wrong_variable": "a variable's name has letters, digits and _; the key itself goes in the line above",
    "wrong_address": "the address must begin with http:// or https://",
}


def word(key: str, **fields: object) -> str:
    """Return the text of ``key`` in the current language, with its placeholders filled."""
    text = translated(f"setup.{key}", WORDS[key])
    return text.format(**fields) if fields else text


def models_found(number: int) -> str:
    text = translated_count("setup.models", WORDS["models.one"], WORDS["models"], number)
    return text.format(count=decimal(number))


def told(error: AgentTuiError) -> str:
    """Return the provider's error; that it came through our backend as a 502 is left out."""
    return localised(error.detail if isinstance(error, TransportError) and error.detail else error)
