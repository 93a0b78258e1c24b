"""What only chats have."""
