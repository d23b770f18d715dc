"""What the node says on the wire."""
