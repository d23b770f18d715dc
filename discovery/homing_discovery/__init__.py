"""Finding nodes: mDNS hints, remembered addresses, and news of the network. Hints, never trust."""
