"""What is kept of prompts, where, and for whom (docs/adr/0008-states.md).

beginnings    where the computation of a prompt begins; on top of pins, checkpoints and prefix_files
pins          system message and tools, ready to fork
checkpoints   conversations, in main memory, each for its owner alone
prefix_files  pinned prefixes on disk: state_file (form and mark), private_folder, latest_writer
repeats       the same prompt again begins where it began before
"""
