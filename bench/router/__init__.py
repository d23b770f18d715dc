"""What `make bench-router` is made of."""
