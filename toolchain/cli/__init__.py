"""The command line: ``main`` is the entry point, every verb is one file and only parses and prints."""
