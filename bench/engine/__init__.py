"""The parts of `make bench-engine`."""
