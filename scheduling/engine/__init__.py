"""What fits where. Pure: no Django, no clock, no I/O, no randomness."""
