"""The phone's own tools: they act in a data folder, or through Termux's commands."""
