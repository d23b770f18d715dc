"""The phone: its resident process, its link to nodes, and the command line that talks to it."""
