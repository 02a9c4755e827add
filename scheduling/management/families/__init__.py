"""Families of `manage.py tas`: verbs about one subject, each the arguments of a service and how its answer
is printed.
"""
