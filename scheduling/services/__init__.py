"""Commands: the only way to change anything. Pure halves make events of a state; shells load, append and
project.
"""
