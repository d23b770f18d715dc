"""Being paired with a node: what phones do, and homes that are paired with a peer."""
