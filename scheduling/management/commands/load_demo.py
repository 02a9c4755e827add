"""`manage.py load_demo`: a cluster to look at, made by the same services as any other."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from scheduling.services.demo import NAME, load_demo


class Command(BaseCommand):
    help = f"Make the simulated cluster {NAME!r} with running gangs and one that waits; once."

    def handle(self, *args: Any, **options: Any) -> None:
        made = load_demo()
        self.stdout.write(f"Cluster {NAME} {'was made' if made else 'is there already'}.")
