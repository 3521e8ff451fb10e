"""Unit tests of the lab's pure parts: `python3 -m unittest discover tests/lab`. No root needed."""
