"""`python -m homing_node`: the same as `homing-node`."""

from homing_node.cli import main

if __name__ == "__main__":
    main()
