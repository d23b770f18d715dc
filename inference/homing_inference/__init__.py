"""Models: chat formats, the catalog of files, and the engines that run them."""
