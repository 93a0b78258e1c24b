"""What is known of a model before it is chosen: how much it can be told, and what it costs."""

from __future__ import annotations

from agent_tui.backend.models.prices import Terms, offer_of


def test_a_public_model_is_told_with_its_context_and_its_prices_per_million_tokens() -> None:
    terms = Terms(kind="openai", base_url="https://api.openai.com/v1")
    assert offer_of(terms, "gpt-4o") == {"context_tokens": 128_000, "input_price": 2.5, "output_price": 10.0}


def test_the_first_tokens_price_is_told_of_a_model_whose_price_grows_with_the_prompt() -> None:
    offer = offer_of(Terms(kind="anthropic"), "claude-sonnet-4-5")
    assert (offer["input_price"], offer["output_price"]) == (3.0, 15.0)


def test_what_the_config_file_says_is_stronger_than_the_table() -> None:
    terms = Terms(8_192, "anthropic", input_price=1.0, output_price=2.0)
    assert offer_of(terms, "claude-sonnet-4-5") == {
        "context_tokens": 8_192,
        "input_price": 1.0,
        "output_price": 2.0,
    }


def test_of_a_model_on_this_machine_nothing_is_made_up() -> None:
    assert offer_of(Terms(kind="openai", base_url="http://127.0.0.1:8080/v1"), "qwen3") == {}
    assert offer_of(Terms(kind="ollama", base_url="http://127.0.0.1:11434"), "gpt-4o") == {}
