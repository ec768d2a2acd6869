"""Building blocks that several samples share."""
