"""Models whose pieces a test releases one by one, or that speak at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Sequence

from agent_tui.backend.models.model import Model, ModelRequest, Piece, TextPiece
from agent_tui.backend.models.prices import Terms
from agent_tui.model.errors import ModelError

Script = Sequence[Piece | str | Exception]
# Says what a call is to answer: texts and pieces in order, an exception is raised where it stands.
Says = Callable[[ModelRequest], Script]


class Call:
    """One call of a ``ScriptedModel``; nothing is said before ``release``."""

    def __init__(self, request: ModelRequest) -> None:
        self.request = request
        self.open = True
        self._permits = asyncio.Semaphore(0)
        self._free = False

    def release(self, pieces: int = 1) -> None:
        """Let so many more pieces out; the end of the answer counts as one."""
        for _ in range(pieces):
            self._permits.release()

    def finish(self) -> None:
        """Let out all that is left."""
        self._free = True
        self._permits.release()

    async def permit(self) -> None:
        """Wait until the next piece may go."""
        if not self._free:
            await self._permits.acquire()


class ScriptedModel:
    """A ``Model``. ``calls`` are all its calls so far; with ``free`` they answer without being released."""

    def __init__(self, says: Says, *, free: bool = False, name: str = "scripted") -> None:
        self.name = name
        self.calls: list[Call] = []
        self.free = free
        self._says = says
        self._called = asyncio.Condition()

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        """Answer ``request`` as ``says`` tells, each piece when the test releases it."""
        call = Call(request)
        if self.free:
            call.finish()
        self.calls.append(call)
        async with self._called:
            self._called.notify_all()
        try:
            for item in self._says(request):
                await call.permit()
                if isinstance(item, Exception):
                    raise item
                yield TextPiece(item) if isinstance(item, str) else item
            await call.permit()
        finally:
            call.open = False

    async def called(self, times: int) -> Call:
        """Return call number ``times`` (from 1), once there is one."""
        async with self._called:
            await self._called.wait_for(lambda: len(self.calls) >= times)
        return self.calls[times - 1]

    def open_calls(self) -> list[Call]:
        """Return the calls that neither ended nor were given up."""
        return [call for call in self.calls if call.open]


class FakeModels:
    """Where the engine gets its models from: always ``model``, but for the provider called "missing" and
    those that are not ``configured`` (None: any).
    """

    def __init__(self, model: Model, *, max_tokens: int = 2000, refusal: Exception | None = None) -> None:
        self.model = model
        self.max_tokens = max_tokens
        self.refusal = refusal
        self.opened: list[tuple[str, str]] = []
        self.charged = Terms()
        self.configured: Collection[str] | None = None
        self.default = "scripts"

    def default_provider(self) -> str:
        """Return the provider of agents that name none."""
        return self.default

    def default_model(self, provider_id: str) -> str:
        """Return the model of agents that name none."""
        return f"{provider_id}-model"

    def check(self, provider_id: str) -> None:
        """Raise for a provider that is not there."""
        if self.configured is not None and provider_id not in self.configured:
            raise ModelError(f"no provider called {provider_id!r}", "the config file has: scripts")

    def open(self, provider_id: str, model: str) -> tuple[Model, int]:
        """Return the model, or raise the refusal."""
        self.opened.append((provider_id, model))
        if self.refusal is not None and provider_id == "missing":
            raise self.refusal
        return self.model, self.max_tokens

    def terms(self, provider_id: str, model: str = "") -> Terms:
        """Return what the test says is charged."""
        return self.charged
