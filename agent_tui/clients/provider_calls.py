"""The calls about providers of models, which every kind of backend may have."""

from __future__ import annotations

from agent_tui.clients.http import Net
from agent_tui.clients.offers import not_offered
from agent_tui.clients.paths import Paths
from agent_tui.clients.room_answers import (
    ProviderInfo,
    ProviderTest,
    read_models,
    read_provider_test,
    read_providers,
)
from agent_tui.model.errors import NotFound, NotOffered

PROVIDER_SECONDS = 60.0  # how much longer than other calls one may take that asks a provider


class ProviderCalls:
    """Calls of a client that has a ``Net`` and paths."""

    _net: Net
    _paths: Paths

    async def providers(self) -> list[ProviderInfo]:
        """Return the providers of models that the server knows, its default first."""
        try:
            return read_providers(await self._net.call("GET", self._paths.of("providers")))
        except (NotFound, NotOffered) as error:
            raise not_offered("a list of providers", error) from error

    async def models(self, provider_id: str) -> list[str]:
        """Return the models of one provider, who is asked now; raises what a person can act on."""
        path = self._paths.of("provider_models", provider_id)
        return read_models(await self._net.call("GET", path, patience=PROVIDER_SECONDS))

    async def test_provider(self, **fields: str) -> ProviderTest:
        """Ask a provider that is not yet in the config (kind, base_url, api_key, api_key_env, model)."""
        path = self._paths.of("provider_test")
        return read_provider_test(await self._net.call("POST", path, json=fields, patience=PROVIDER_SECONDS))
