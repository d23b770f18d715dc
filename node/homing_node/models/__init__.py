"""The models that a node serves: which there are, and which of them are in memory.

Begin with `pool`; `room` decides what is unloaded, `memory` how much there is.
"""
