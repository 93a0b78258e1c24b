"""Well-known providers: their addresses, their protocols, and the usual variables of their keys."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
LOCAL: Final = "local"  # the name of a server on this machine that has no other
_NO_WORDS: Final = re.compile(  # of models that embed, rank, hear, draw or speak, and answer nobody
    r"embed|rerank|whisper|transcribe|moderation|dall-e|(?:^|[^a-z])(?:bge|e5|gte|minilm|tts)(?:[^a-z]|$)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Preset:
    """A provider: ``label`` is its name for people, ``kind`` is as in the config file. ``variables`` are the
    environment variables that may have its key, the usual one first.
    """

    id: str
    label: str
    kind: str
    base_url: str
    variables: tuple[str, ...] = ()

    @property
    def variable(self) -> str:
        """The usual variable of its key, "" for a server without keys."""
        return self.variables[0] if self.variables else ""

    @property
    def port(self) -> int:
        """The port of a server on this machine, 0 for one elsewhere."""
        parts = urlsplit(self.base_url)
        return parts.port or 0 if parts.hostname in LOOPBACK else 0


_ALL: Final = (
    Preset("openai", "OpenAI", "openai", "https://api.openai.com/v1", ("OPENAI_API_KEY",)),
    Preset("ollama", "Ollama", "ollama", "http://127.0.0.1:11434/v1"),
    Preset("anthropic", "Anthropic", "anthropic", "https://api.anthropic.com", ("ANTHROPIC_API_KEY",)),
    Preset(
        "google",
        "Google Gemini",
        "google",
        "https://generativelanguage.googleapis.com",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    ),
    Preset("openrouter", "OpenRouter", "openai", "https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",)),
    Preset("groq", "Groq", "openai", "https://api.groq.com/openai/v1", ("GROQ_API_KEY",)),
    Preset("deepseek", "DeepSeek", "openai", "https://api.deepseek.com/v1", ("DEEPSEEK_API_KEY",)),
    Preset("mistral", "Mistral", "openai", "https://api.mistral.ai/v1", ("MISTRAL_API_KEY",)),
    Preset("together", "Together", "openai", "https://api.together.xyz/v1", ("TOGETHER_API_KEY",)),
    Preset("lmstudio", "LM Studio", "openai", "http://127.0.0.1:1234/v1"),
    Preset("llamacpp", "llama.cpp", "openai", "http://127.0.0.1:8080/v1"),
    Preset("vllm", "vLLM", "openai", "http://127.0.0.1:8000/v1"),
)
PRESETS: Final[Mapping[str, Preset]] = {preset.id: preset for preset in _ALL}


def preset_of(kind: str, address: str) -> Preset:
    """Return the preset of a provider of ``kind`` at ``address``; at another address, that of its kind."""
    presets = (preset for preset in _ALL if preset.kind == kind and preset.base_url == address)
    return next(presets, PRESETS[kind])


def name_at(address: str) -> str:
    """Return a name for a server that speaks OpenAI's protocol: that of the preset at ``address``, else its
    host's; "" if it has none.
    """
    if (preset := preset_of("openai", address)).base_url == address:
        return preset.id
    try:
        host = urlsplit(address).hostname or ""
    except ValueError:
        return ""
    return LOCAL if host in LOOPBACK else re.sub(r"[^a-z0-9]+", "-", host).strip("-")[:40]


def is_for_words(model: str) -> bool:
    """Return whether a model's name allows that it answers in words."""
    return _NO_WORDS.search(model) is None
