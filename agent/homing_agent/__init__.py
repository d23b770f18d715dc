"""The agent: the loop on the phone, what it may do, what it remembers, and its tools."""
