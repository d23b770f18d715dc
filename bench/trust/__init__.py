"""What `make bench-trust` measures, a module for each thing."""
