"""Where a step runs: features, and a pure decision over them."""
