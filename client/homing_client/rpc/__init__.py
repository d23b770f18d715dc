"""What the phone says on the wire."""
