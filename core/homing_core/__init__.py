"""Values and rules that every part of Homing shares. Nothing here does I/O."""
