#!/usr/bin/env python3
"""The one entry point: sees to the virtual environment, then hands over to Django's commands."""

import os
import sys


def main():
    from tasweb import bootstrap

    bootstrap.enter()
    from tasweb.stack.state import join_running

    if sys.argv[1:2] not in (["up"], ["test"], ["bench"]):
        join_running()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tasweb.settings")
    from django.core.management import execute_from_command_line
    from django.db import OperationalError

    try:
        execute_from_command_line(sys.argv)
    except OperationalError as error:
        if "--traceback" in sys.argv:
            raise
        sys.exit(f"The database does not answer (run `up`, or give DATABASE_URL): {error}")


if __name__ == "__main__":
    main()
