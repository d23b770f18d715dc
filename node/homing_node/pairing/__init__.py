"""The pairing server: opened for one device, for three minutes at most, by link or by code.

Nothing here decides: the machines of `homing_crypto.pairing` do. Here are their port, their clock,
what happens when a device is let in, and their end.
"""
