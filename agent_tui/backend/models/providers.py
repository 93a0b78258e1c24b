"""The model of an agent: the demo model, or one of the config file's providers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from agent_tui.backend.config_file import ConfigFile
from agent_tui.backend.models.agent_model import RemoteAgents, Sessions, agent_terms, backend_named
from agent_tui.backend.models.demo.pacer import DEMO as DEMO
from agent_tui.backend.models.demo.pacer import DemoModel
from agent_tui.backend.models.endpoints import ProviderAddress, endpoint_of, silence_seconds
from agent_tui.backend.models.model import Model
from agent_tui.backend.models.prices import UNLIMITED_TOKENS, Terms
from agent_tui.backend.models.remote import RemoteProvider
from agent_tui.config.file import AGENT_KINDS, BackendConfig, ProviderConfig
from agent_tui.model.errors import ModelError

DEFAULT_MODEL = "gpt-4"  # protocols.md §1: the agent's model, else the provider's, else this


class Models:
    """The providers of the current config file: it is read again whenever it has changed."""

    def __init__(
        self, config_path: Path | None, *, demo_rate: float, demo_seed: int, sessions: Sessions
    ) -> None:
        """``config_path`` ``None`` is the user's own file; ``demo_rate`` is in tokens/s, 0 without pauses.
        ``sessions`` are those of others' agents.
        """
        self._file = ConfigFile(config_path)
        self._demo = DemoModel(demo_rate, demo_seed)
        self._opened: dict[ProviderAddress, RemoteProvider] = {}
        self._agents = RemoteAgents(sessions)

    def default_provider(self) -> str:
        """Return the name of the first configured provider, else ``DEMO``.

        Raises ``ModelError`` while the file is broken: then it is unknown which one is meant, and the demo
        model must not answer instead.
        """
        return next(iter(self._usable_config()), DEMO)

    def default_model(self, provider_id: str) -> str:
        """Return the provider's model, else ``gpt-4`` for the kind openai and "" for others (then agents name
        theirs); "demo" for ``DEMO``, NAME for ``backend:NAME``. Never raises.
        """
        if provider_id == DEMO:
            return DEMO
        if agent := backend_named(provider_id):
            return agent
        provider = self._configured.get(provider_id)
        if provider is None:
            return DEFAULT_MODEL
        return provider.model or (DEFAULT_MODEL if provider.kind == "openai" else "")

    def open(self, provider_id: str, model: str) -> tuple[Model, int]:
        """Return (model, max_tokens) of a provider; an empty ``model`` is the provider's default one, 0
        tokens means its own limit.

        Raises ``ModelError`` if there is no such provider, its key is missing or the file is broken.
        """
        if provider_id == DEMO:
            return self._demo, 0
        if agent := backend_named(provider_id):
            return self._agents.model(self._backend(agent)), 0
        provider = _provider_named(provider_id, self._usable_config())
        name = model or self.default_model(provider_id)
        if not name:
            detail = f"choose one for the chat or the agent, or set providers.{provider_id}.model"
            raise ModelError(f"no model is chosen for {provider_id}", detail)
        connection = self._at(endpoint_of(provider))
        return connection.model(name), provider.max_tokens or 0

    def check(self, provider_id: str) -> None:
        """Raise ``ModelError`` for a provider that is not in the config file, and while that is broken."""
        if agent := backend_named(provider_id):
            self._agents.model(self._backend(agent))
        elif provider_id != DEMO:
            _provider_named(provider_id, self._usable_config())

    def terms(self, provider_id: str, model: str = "") -> Terms:
        """Return the size of the context of the provider's model, as far as it is known by now, how long it
        may be silent, and its cost. Never raises.
        """
        if (backend := self._file.read().backends.get(backend_named(provider_id))) is not None:
            return agent_terms(backend)
        config = self._configured.get(provider_id)
        if config is None:
            return Terms()
        name = model or self.default_model(provider_id)
        try:
            provider = self._at(endpoint_of(config))
            known, refuses = provider.contexts.get(name, 0), provider.refuses(name)
        except ModelError:  # a key is missing: the call will say so
            known, refuses = 0, frozenset()
        return Terms(
            config.context_tokens or known or UNLIMITED_TOKENS,
            config.kind,
            config.base_url,
            config.input_price,
            config.output_price,
            silence_seconds(config),
            refuses=refuses,
        )

    def provider(self, provider_id: str) -> ProviderConfig | None:
        """Return the config file's entry for a provider; ``None`` for the demo and unknown names."""
        return self._configured.get(provider_id)

    def configured(self) -> tuple[ProviderConfig, ...]:
        """Return every provider of the config file; raises ``ModelError`` while the file is broken."""
        return tuple(self._usable_config().values())

    def agents(self) -> tuple[BackendConfig, ...]:
        """Return the backends of the config file whose agents may speak here; raises ``ModelError`` while the
        file is broken.
        """
        self._usable_config()
        backends = self._file.read().backends.values()
        return tuple(backend for backend in backends if backend.kind in AGENT_KINDS)

    async def aclose(self) -> None:
        """Close every provider's HTTP client, and the connections of agents."""
        await self._agents.aclose()
        for provider in self._opened.values():
            await provider.aclose()

    @property
    def _configured(self) -> Mapping[str, ProviderConfig]:
        return self._file.read().providers

    def _usable_config(self) -> Mapping[str, ProviderConfig]:
        configured = self._configured
        if (broken := self._file.broken) is not None:
            raise ModelError(broken.title, broken.detail)
        return configured

    def _backend(self, name: str) -> BackendConfig:
        self._usable_config()
        agents = self._file.read().backends
        if name not in agents:
            known = ", ".join(one.name for one in self.agents()) or "none"
            raise ModelError(f"no agent called {name!r}", f"the config file has these backends: {known}")
        return agents[name]

    def _at(self, endpoint: ProviderAddress) -> RemoteProvider:
        """Return the endpoint's one client. A changed configuration gets a new one; current turns keep theirs
        until ``aclose``.
        """
        opened = self._opened.get(endpoint)
        if opened is None:
            opened = self._opened[endpoint] = RemoteProvider(endpoint)
        return opened


def _provider_named(provider_id: str, configured: Mapping[str, ProviderConfig]) -> ProviderConfig:
    provider = configured.get(provider_id)
    if provider is None:
        known = ", ".join((*configured, DEMO))
        there = f"the config file has: {known}" if configured else "only the demo is set up"
        raise ModelError(f"no provider called {provider_id!r}", there)
    return provider
