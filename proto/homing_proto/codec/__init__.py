"""Core values to wire messages and back. The only place where both are seen."""
