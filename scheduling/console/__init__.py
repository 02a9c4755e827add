"""The pages: templates, htmx and plain function views. They ask selectors and call services, and know no
rules.
"""
