"""Durable jobs: home tools that may take hours, survive restarts, and happen once.

`desk` is what devices and the console reach; `store` keeps everything, sealed; `runner` takes one
job through its tool; `scheduler` decides which runs next; `workflows` is the boundary to DBOS.
"""
