"""What models exist, and how their files get onto this machine, verified.

`models` says what there is, `resolve.ensure` turns a name or a path into a verified file, `store`
keeps the files, and `hub`, `wheels`, `convert` and `local` are where files come from.
"""
