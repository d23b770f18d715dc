"""What the phone remembers: requests, conversations, generations and its own side effects."""
