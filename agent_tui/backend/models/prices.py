"""What tokens cost: by the config file, else by the table of prices that comes with pydantic-ai."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import urlsplit

UNLIMITED_TOKENS = 100_000_000  # of a context that is not known yet: what reads it leaves messages out
PRICE_TOKENS = 1_000_000  # prices are for so many
FEW = 1_000  # one part in so many of the tokens that prices are for
_LISTED_KINDS = ("openai", "anthropic", "google")  # that the table of prices may have
NEAR_ENDINGS = (".localhost", ".local", ".lan", ".internal", ".home.arpa")  # of names in one's own network

# Takes (prompt tokens, completion tokens), gives US dollars; None where no price is known.
Cost = Callable[[int, int], float | None]


@dataclass(frozen=True, slots=True)
class Terms:
    """On what terms a provider's models speak: how many tokens they can be told, for how many seconds they
    may say nothing (``None``: for as long as the engine waits), and what tokens cost.

    Prices are US dollars per million tokens, None where the config file names none. Those of a ``kind``
    or a ``base_url`` that are no public provider's are not known. ``acts``: it runs tools of its own, and
    is not offered ours.
    """

    context_tokens: int = UNLIMITED_TOKENS
    kind: str = ""
    base_url: str = field(default="", repr=False)  # may hold a login
    input_price: float | None = None
    output_price: float | None = None
    silence_seconds: float | None = None
    acts: bool = False


def costs_money(terms: Terms) -> bool:
    """Return whether calls may cost: by the prices of the config file, else by where the provider is.

    One on this machine or in its network does not; nor does one that is not configured, which nobody can ask.
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
    """Return what that model's tokens cost. The first time the table is loaded, in a thread."""
    if terms.input_price is not None or terms.output_price is not None:
        return _at(terms.input_price or 0.0, terms.output_price or 0.0)
    if terms.kind not in _LISTED_KINDS:
        return unknown_cost
    return await asyncio.to_thread(_listed, terms.kind, terms.base_url, model)


def listed_context(kind: str, base_url: str, model: str) -> int:
    """Return how many tokens a public provider's model can be told, 0 for one that the table does not have.

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
    """Return how many tokens that model can be told, 0 where nobody knows.

    The first time the table of prices is read, in a thread.
    """
    if terms.context_tokens < UNLIMITED_TOKENS:
        return terms.context_tokens
    if terms.kind not in _LISTED_KINDS:
        return 0
    return await asyncio.to_thread(listed_context, terms.kind, terms.base_url, model)


def offer_of(terms: Terms, model: str) -> dict[str, float]:
    """Return what is known of a model before it is chosen: ``context_tokens``, and ``input_price`` and
    ``output_price`` in US dollars per million tokens. Reads the table: call it in a thread.
    """
    is_listed = terms.kind in _LISTED_KINDS
    context = terms.context_tokens if terms.context_tokens < UNLIMITED_TOKENS else 0
    if is_listed and not context:
        context = listed_context(terms.kind, terms.base_url, model)
    prices = terms.input_price, terms.output_price
    if prices == (None, None) and is_listed:
        cost = _listed(terms.kind, terms.base_url, model)
        few = PRICE_TOKENS // FEW  # many tokens in one call may have another price
        prices = tuple(None if of is None else of * FEW for of in (cost(few, 0), cost(0, few)))  # type: ignore[assignment]
    known = {"context_tokens": context or None, "input_price": prices[0], "output_price": prices[1]}
    return {name: value for name, value in known.items() if value is not None}


def unknown_cost(_prompt_tokens: int, _completion_tokens: int) -> None:
    """A ``Cost`` that nobody knows."""
    return


def _at(input_price: float, output_price: float) -> Cost:
    def cost(prompt_tokens: int, completion_tokens: int) -> float:
        return (prompt_tokens * input_price + completion_tokens * output_price) / PRICE_TOKENS

    return cost


@lru_cache(maxsize=256)
def _listed(kind: str, base_url: str, model: str) -> Cost:
    # Lazy, and in a thread: loading the table takes most of a second (architecture.md §7).
    from genai_prices import Usage, calc_price

    # What calls itself openai may be anybody: there the address says whose prices hold.
    by_address = kind == "openai" and base_url

    def cost(prompt_tokens: int, completion_tokens: int) -> float | None:
        usage = Usage(input_tokens=prompt_tokens, output_tokens=completion_tokens)
        try:
            if by_address:
                return float(calc_price(usage, model, provider_api_url=base_url).total_price)
            return float(calc_price(usage, model, provider_id=kind).total_price)
        except (LookupError, ValueError):  # no such model; no price for such a usage
            return None

    return cost if cost(1, 1) is not None else unknown_cost
