"""Labelled requests, and whether a first action is one that their labels accept."""
