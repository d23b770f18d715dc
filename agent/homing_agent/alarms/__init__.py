"""Alarms: timers and reminders that ring, and the ways to make them heard."""
