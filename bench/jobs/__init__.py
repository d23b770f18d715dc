"""What `make bench-jobs` measures, a module for each thing."""
