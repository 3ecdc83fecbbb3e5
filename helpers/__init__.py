"""What notebooks and batch runs share. Nothing here names a concrete environment."""
