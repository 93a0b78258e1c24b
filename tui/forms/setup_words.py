"""What the set-up screen says."""

from __future__ import annotations

from typing import Final

from agent_tui.model.errors import AgentTuiError, TransportError

WORDS: Final = {
    "title": "Set up a provider of models",
    "which": "provider",
    "which.new": "a new one",
    "which.change": "change {name}",
    "kind": "kind",
    "kind.openai": "OpenAI, or a server that speaks like it",
    "kind.ollama": "Ollama, on this machine or another",
    "kind.anthropic": "Anthropic",
    "kind.google": "Google Gemini",
    "address": "address",
    "key": "key",
    "key.hint": "kept in the system's keyring; or leave it empty",
    "key.hint.file": "kept in the config file; or leave it empty",
    "key.no_keyring": "There is no keyring here ({why}): a key that is typed is kept in {path},"
    " which only you can read then. A variable keeps it out of files",
    "key.kept": "kept – type another one to replace it",
    "variable": "or variable",
    "variable.hint": "the environment variable that holds the key",
    "name": "name",
    "limit": "longest answer",
    "limit.hint": "in tokens; empty: what the model allows",
    "wrong_limit": "a number of tokens, or nothing",
    "timeout": "timeout",
    "timeout.hint": "seconds without a token: 600 on this machine, else 120",
    "wrong_timeout": "a number of seconds above 0",
    "hint": "enter test · tab next · {setup.save_untested} save without a test · {setup.back} back"
    " · {app.help.anywhere} help",
    "hint.kept": "enter test · tab next · {setup.save_untested} save without a test · {setup.remove} remove"
    " · {setup.back} back · {app.help.anywhere} help",
    "testing": "testing {address} …",
    "models": "{count} models answered. Which one speaks where an agent names none?",
    "models.none": "It answers, but has no model: load one there and test again"
    " · {setup.save_untested} saves it as it is",
    "models.unlisted": "{error}. Type the name of a model",
    "models.hint": "{setup.previous} {setup.next} choose · enter test it and save · {setup.back} back",
    "filter": "part of a name, or the whole name of another model",
    "filter.unlisted": "the name of a model",
    "stopped": "the test was stopped",
    "trying": "asking {model} for a word …",
    "saved": "saved as [providers.{name}] in {path}",
    "saved.no_tools": "saved as [providers.{name}] in {path};"
    " this model has no tools: chats and rooms go without",
    "saved.untested": "saved as [providers.{name}] in {path}, not tested",
    "remove.none": "choose a provider that is there, in the first line: then it can be removed",
    "remove.question": "Remove {name}? Agents that speak by it stay silent until it is there again.",
    "removed": "[providers.{name}] is no longer in {path}",
    "no_name": "a name of letters, digits, - and _",
    "taken": "the config file has a provider called {name} already: choose another name",
    "two_keys": "give a key or a variable, not both",
    "wrong_variable": "a variable's name has letters, digits and _; the key itself belongs in the line above",
    "wrong_address": "an address begins with http:// or https://",
}


def word(key: str, **fields: object) -> str:
    """Return the sentence ``key`` with its placeholders filled."""
    return WORDS[key].format(**fields) if fields else WORDS[key]


def told(error: AgentTuiError) -> str:
    """Return what the provider's failure says; that it came through our backend as a 502 says nothing."""
    return error.detail if isinstance(error, TransportError) and error.detail else str(error)
