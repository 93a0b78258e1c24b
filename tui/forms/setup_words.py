"""What the set-up screen says; part of the one table in ``tui.screens.words``."""

from __future__ import annotations

from typing import Final

SETUP: Final[dict[str, str]] = {
    "setup.title": "Connect a model",
    "setup.which": "provider",
    "setup.which.new": "new",
    "setup.which.change": "edit {name}",
    "setup.kind": "kind",
    "setup.kind.openai": "OpenAI-compatible",
    "setup.address": "address",
    "setup.key": "key",
    "setup.key.hint": "saved in the system's keyring; optional",
    "setup.key.hint.file": "saved in the config file, which only you can read; optional",
    "setup.key.kept": "saved – type another one to replace it",
    "setup.variable": "or variable",
    "setup.usual": "default: {value}",
    "setup.variable.hint": "the environment variable that holds the key",
    "setup.name": "name",
    "setup.limit": "answer limit",
    "setup.limit.hint": "in tokens; empty: the model's limit",
    "setup.hint": "enter test · tab next · {setup.save_untested} save without a test · {setup.back} back"
    " · {app.help.anywhere} help",
    "setup.hint.kept": "enter test · tab next · {setup.save_untested} save without a test"
    " · {setup.remove} remove · {setup.back} back · {app.help.anywhere} help",
    "setup.testing": "testing {address} …",
    "setup.models": "{count} models found. Choose the default model",
    "setup.models.one": "1 model found. Choose the default model",
    "setup.models.none": "Connected, but there are no models: load one there and test again"
    " · {setup.save_untested} saves it anyway",
    "setup.models.unlisted": "Type the name of a model: {error}",
    "setup.stopped": "test stopped",
    "setup.trying": "testing {model} …",
    "setup.saved": "saved as [providers.{name}] in {path}",
    "setup.saved.no_tools": "saved as [providers.{name}] in {path};"
    " this model cannot use tools: chats and rooms go without",
    "setup.saved.untested": "saved as [providers.{name}] in {path}, not tested",
    "setup.saved.no_model": "no model chosen: {press} chooses one",
    "setup.remove.none": "choose an existing provider in the first line to remove it",
    "setup.remove.question": "Remove {name}? Agents that use it cannot answer until it is set up again.",
    "setup.removed": "[providers.{name}] removed from {path}",
    "setup.no_name": "enter a name of letters, digits, - and _",
    "setup.taken": "the config file already has a provider called {name}: choose another name",
    "setup.two_keys": "enter a key or a variable, not both",
    "setup.wrong_limit": "enter a number of tokens, or leave it empty",
    "setup.wrong_variable": "a variable's name has letters, digits and _;"
    " the key itself goes in the line above",
    "setup.wrong_address": "the address must begin with http:// or https://",
}
