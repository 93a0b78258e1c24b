"""The queries, each in one transaction: ``await store.read(reads.conversation, id)``."""

from agent_tui.backend.store.reads.branches import leaf as leaf
from agent_tui.backend.store.reads.branches import links as links
from agent_tui.backend.store.reads.calls import file_changes as file_changes
from agent_tui.backend.store.reads.calls import rules as rules
from agent_tui.backend.store.reads.conversations import conversation as conversation
from agent_tui.backend.store.reads.conversations import conversation_with_states as conversation_with_states
from agent_tui.backend.store.reads.conversations import conversations as conversations
from agent_tui.backend.store.reads.conversations import conversations_with_states as conversations_with_states
from agent_tui.backend.store.reads.conversations import exists as exists
from agent_tui.backend.store.reads.conversations import turn_states as turn_states
from agent_tui.backend.store.reads.found import is_searchable as is_searchable
from agent_tui.backend.store.reads.found import search as search
from agent_tui.backend.store.reads.pages import messages_for_model as messages_for_model
from agent_tui.backend.store.reads.pages import page as page
from agent_tui.backend.store.reads.turns import answer_start as answer_start
from agent_tui.backend.store.reads.turns import chain as chain
from agent_tui.backend.store.reads.turns import continuable as continuable
from agent_tui.backend.store.reads.turns import contributions as contributions
from agent_tui.backend.store.reads.turns import earlier_question as earlier_question
from agent_tui.backend.store.reads.turns import first_event as first_event
from agent_tui.backend.store.reads.turns import frames as frames
from agent_tui.backend.store.reads.turns import inbox as inbox
from agent_tui.backend.store.reads.turns import last_seq as last_seq
from agent_tui.backend.store.reads.turns import state as state
from agent_tui.backend.store.reads.turns import text_before as text_before
