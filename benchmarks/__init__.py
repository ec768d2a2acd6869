"""Measurements: the samples against other ways to run them, and what one call costs."""
