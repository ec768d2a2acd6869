"""The zoo: dynamic neural networks, one file per model, each written as its authors would write it in PyTorch.

A file defines ``model()`` (in eval mode, seeded weights), ``example_inputs()`` (a tuple), ``inputs()`` (further tuples
that together take the model's paths) and ``random_inputs(n, seed)`` (n tuples from a distribution where paths differ).
"""
