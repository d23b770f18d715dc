"""Folders of documents that the node's operator opens to tools: read, indexed, searched.

    roots, opening, scan    which folders, and how nothing outside of them is ever opened
    kinds, chunks, extract/ what text a file holds, and where in it
    worker, confine         the child in which files are parsed: `python -m …documents.worker`
    messages, extractor     what is said between it and the daemon; starting and ending it
    index, statements, rows the SQLite file: what is known of each file, and full-text search
    query                   from anybody's words to a query of it
    library                 the one door for tools: refresh, search, read
    summary/                map and reduce over a folder with the node's model

Libraries that parse documents are imported in the worker alone.
"""
