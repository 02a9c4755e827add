"""Sentences for people, from codes and numbers: the only place that words what engine and log say.

``words`` has a word for each code, ``units`` the amounts, ``decisions`` and ``events`` whole sentences. Every
sentence is one message with named placeholders, because word order differs between languages.
"""
