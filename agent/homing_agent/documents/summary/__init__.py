"""Summaries of folders: each file is summarised, then the summaries are, until one is left.

sizes      how much text fits one generation
prompts    what the model is asked; text of files is always a part of its own, untrusted
writer     one answer of the model, asked again where it is of no use
kept       what was written is kept, so that a killed job goes on behind it
folder     map and reduce; shape: how the result reads
"""
