"""The machine an engine runs on: threads, memory, sizes, and the other engines that compute now."""
