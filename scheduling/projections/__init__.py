"""The tables that pages read, made from events: pure rules for each of them, and a writer that keeps them in
step.

What is projected at once is a *commit*, the events of one append. Rows are settled at its end, from the rows
they depend on and never by counting up, so that following the log and rebuilding from it give the same.
"""
