"""Chat formats: how a conversation becomes a prompt, and how an answer becomes events."""
