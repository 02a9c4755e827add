"""`python -m bench NAME [--json] [arguments of the bench]`, in an environment that `manage.py bench`
prepared."""

import importlib
import sys

import django

django.setup()

name, *arguments = sys.argv[1:]
report = importlib.import_module(f"bench.{name}").main([word for word in arguments if word != "--json"])
print(report.table(), flush=True)
if "--json" in arguments:
    print(report.json(), flush=True)
