"""Which engine decides: told by each decision, so that a replay knows whether it has to give the same."""

ENGINE = "2"
"""Goes up with any change after which some state gives another decision, the order of the queue and the
numbers that a refusal tells included. ``tests/services/test_engine_version.py`` notices.

"1" stands for all engines before replay was: it was not raised when they came to decide otherwise.
"""
