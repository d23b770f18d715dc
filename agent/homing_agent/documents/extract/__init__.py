"""Text out of files, one module for each family of formats. Runs in the worker alone."""
