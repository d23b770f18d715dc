"""Who may use this node, and how much: changes, limits, usage."""
