"""The end-to-end checks of the lab: each is a function that takes a name for its lab and raises when it fails."""
