"""The command line: ``main`` is the entry point, every verb is one file and only parses and prints."""

import gc

# Importing PyTorch and exploring a model allocate millions of objects that stay: looking for garbage after every 700
# new ones, as Python does unless told, takes a tenth of the time of a build.
gc.set_threshold(20_000, 20, 20)
