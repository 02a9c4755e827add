"""`manage.py first_start`: what `up` does after migrating. Prints the token of a sign-in link as its last
line."""

from typing import Any

from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import BaseCommand

from tasweb import login_links


class Command(BaseCommand):
    help = "Make the demo cluster and the user `admin` where there is no user yet; print a sign-in token."

    def handle(self, *args: Any, **options: Any) -> None:
        if not User.objects.exists():
            # The user last: a first start that was interrupted does it all again.
            call_command("load_demo")
            User.objects.create_superuser("admin", password=None)
        admin = User.objects.filter(is_superuser=True, is_active=True).order_by("pk").first()
        if admin is None:
            self.stderr.write("There is no active superuser to sign in: `manage.py createsuperuser`.")
            raise SystemExit(1)
        self.stdout.write(login_links.create(admin))
