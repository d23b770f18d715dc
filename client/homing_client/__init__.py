"""Homing."""
