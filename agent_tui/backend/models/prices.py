"""The cost of tokens: from the config file, else from the table of prices in pydantic-ai."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import urlsplit

UNLIMITED_TOKENS = 100_000_000  # of an unknown context: anything longer is trimmed
PRICE_TOKENS = 1_000_000  # prices are for this many
FEW = 1_000  # how many times fewer tokens are priced here
_LISTED_KINDS = ("openai", "anthropic", "google")  # kinds in the table of prices
NEAR_ENDINGS = (".localhost", ".local", ".lan", ".internal", ".home.arpa")  # of names in a private network

# Takes (prompt tokens, completion tokens), returns US dollars; ``None`` if the price is unknown.
Cost = Callable[[int, int], float | None]


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a provider's models: the size of the context, how many seconds they may be silent
    (``None``: as long as the engine waits), and the cost of tokens.

    Prices are US dollars per million tokens, ``None`` if the config file has none. Prices of a ``kind`` or a
    ``base_url`` that is not a public provider's are unknown. ``acts``: it runs tools of its own, and does not
    get ours. ``refuses``: which of "tools" and "images" it does not take, as far as that is known by now.
    """

    context_tokens: int = UNLIMITED_TOKENS
    kind: str = ""
    base_url: str = field(default="", repr=False)  # may contain a login
    input_price: float | None = None
    output_price: float | None = None
    silence_seconds: float | None = None
    acts: bool = False
    refuses: frozenset[str] = frozenset()


def costs_money(terms: Terms) -> bool:
    """Return whether calls may cost: by the prices of the config file, else by the provider's address.

    A provider on this machine or in its network is free, and so is one that is not configured.
    """
    if terms.input_price is not None or terms.output_price is not None:
        return bool(terms.input_price or terms.output_price)
    host = urlsplit(terms.base_url).hostname or ""
    return bool(terms.kind) and not _is_near(host)


def _is_near(host: str) -> bool:
    try:
        return not ip_address(host).is_global
    except ValueError:
        return bool(host) and ("." not in host or host.endswith(NEAR_ENDINGS))


async def cost_of(terms: Terms, model: str) -> Cost:
    """Return the cost function of that model. The table is loaded in a thread when it is first needed."""
    if terms.input_price is not None or terms.output_price is not None:
        return _at(terms.input_price or 0.0, terms.output_price or 0.0)
    if terms.kind not in _LISTED_KINDS:
        return unknown_cost
    return await asyncio.to_thread(_price_of, terms.kind, terms.base_url, model)


def listed_context(kind: str, base_url: str, model: str) -> int:
    """Return the size of a public provider's model's context, 0 if the table does not have it.

    Loads the table the first time, which takes most of a second: call it in a thread.
    """
    from genai_prices.data_snapshot import get_snapshot

    by_address = base_url if kind == "openai" else None
    try:
        _, found = get_snapshot().find_provider_model(model, None, None if by_address else kind, by_address)
    except LookupError:
        return 0
    return found.context_window or 0


async def context_of(terms: Terms, model: str) -> int:
    """Return the size of that model's context, 0 if unknown. The table is read in a thread if needed."""
    if terms.context_tokens < UNLIMITED_TOKENS:
        return terms.context_tokens
    if terms.kind not in _LISTED_KINDS:
        return 0
    return await asyncio.to_thread(listed_context, terms.kind, terms.base_url, model)


def offer_of(terms: Terms, model: str) -> dict[str, float]:
    """Return what is known about a model before it is chosen: ``context_tokens``, and ``input_price`` and
    ``output_price`` in US dollars per million tokens. Reads the table: call it in a thread.
    """
    is_listed = terms.kind in _LISTED_KINDS
    context = terms.context_tokens if terms.context_tokens < UNLIMITED_TOKENS else 0
    if is_listed and not context:
        context = listed_context(terms.kind, terms.base_url, model)
    prices = terms.input_price, terms.output_price
    if prices == (None, None) and is_listed:
        cost = _price_of(terms.kind, terms.base_url, model)
        few = PRICE_TOKENS // FEW  # a call with many tokens may have another price
        prices = tuple(None if price is None else price * FEW for price in (cost(few, 0), cost(0, few)))  # type: ignore[assignment]
    offer = {"context_tokens": context or None, "input_price": prices[0], "output_price": prices[1]}
    return {name: value for name, value in offer.items() if value is not None}


def unknown_cost(_prompt_tokens: int, _completion_tokens: int) -> None:
    """A ``Cost`` that is unknown."""
    return


def _at(input_price: float, output_price: float) -> Cost:
    def cost(prompt_tokens: int, completion_tokens: int) -> float:
        return (prompt_tokens * input_price + completion_tokens * output_price) / PRICE_TOKENS

    return cost


@lru_cache(maxsize=256)
def _price_of(kind: str, base_url: str, model: str) -> Cost:
    # Lazy, and in a thread: loading the table takes most of a second (architecture.md §7).
    from genai_prices import Usage, calc_price

    # Any server may call itself openai: the address decides whose prices apply.
    by_address = kind == "openai" and base_url

    def cost(prompt_tokens: int, completion_tokens: int) -> float | None:
        usage = Usage(input_tokens=prompt_tokens, output_tokens=completion_tokens)
        try:
            if by_address:
                return float(calc_price(usage, model, provider_api_url=base_url).total_price)
            return float(calc_price(usage, model, provider_id=kind).total_price)
        except (LookupError, ValueError):  # no such model, or no price for such usage
            return None

    return cost if cost(1, 1) is not None else unknown_cost
