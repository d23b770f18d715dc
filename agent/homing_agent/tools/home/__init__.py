"""Tools that run on a home node, as jobs."""
