"""What every resident process and its command line need: folders, lock, socket, logs, exit codes.

It knows nothing of agents. The node and the phone both stand on it, so it lives where both reach.
"""
