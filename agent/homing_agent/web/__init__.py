"""Pages of the web for a model to read: which addresses may be asked, fetching, readable text."""
