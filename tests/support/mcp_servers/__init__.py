"""MCP servers that misbehave, and the means to run them."""
