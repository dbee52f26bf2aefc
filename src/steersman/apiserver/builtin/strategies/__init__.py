"""What is particular about single built-in kinds; everything else about them is in ``strategies.base``."""
