"""The one error that a user of the lab is meant to read."""


class LabError(Exception):
    """Something is not as it must be; the text says what, and what to do about it."""
