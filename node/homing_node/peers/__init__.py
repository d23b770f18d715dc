"""Peers: homes whose devices this node takes, and peers that take this node's devices."""
