"""What is done with chats alone."""
