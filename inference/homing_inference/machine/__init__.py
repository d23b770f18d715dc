"""The machine an engine runs on: threads, memory, and the other engines that compute now."""
