"""Jobs that this phone has on nodes: written down first, followed, fetched once, kept."""
