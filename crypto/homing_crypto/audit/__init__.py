"""The record of what was allowed, refused and done; each entry is chained to the one before."""
