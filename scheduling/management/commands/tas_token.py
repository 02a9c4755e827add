"""`manage.py tas_token`: make, list and revoke API tokens. A token is printed once and never again."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from scheduling.services import tokens


def _user(name: str) -> User:
    user = User.objects.filter(username=name).first()
    if user is None:
        raise CommandError(f"There is no user named {name}.")
    return user


class Command(BaseCommand):
    help = "Make, list and revoke API tokens."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="create|list|revoke")
        create = actions.add_parser("create", help="make a token and print it, once")
        create.add_argument("user")
        create.add_argument("name", help="what the token is for")
        create.add_argument("--days", type=int, help="how long it holds; for ever when not given")
        listing = actions.add_parser("list", help="the tokens of a user; never the token itself")
        listing.add_argument("user")
        revoke = actions.add_parser("revoke", help="end a token at once")
        revoke.add_argument("user")
        revoke.add_argument("id", type=int)

    def handle(self, *args: Any, **options: Any) -> None:
        user = _user(options["user"])
        if options["action"] == "create":
            self.create(user, options["name"], options["days"])
        elif options["action"] == "list":
            self.list(user)
        elif not tokens.revoke(user=user, token_id=options["id"]):
            raise CommandError(f"{user} has no token {options['id']}.")

    def create(self, user: User, name: str, days: int | None) -> None:
        try:
            expires_at = None if days is None else timezone.now() + timedelta(days=days)
        except OverflowError as error:
            raise CommandError(
                f"No token was made: {days} days from now is beyond the calendar; leave --days out for one "
                "that holds for ever."
            ) from error
        try:
            _, plain = tokens.create_token(user=user, name=name, expires_at=expires_at)
        except ValueError as error:
            raise CommandError(f"No token was made: {error}.") from error
        self.stdout.write(plain)
        self.stderr.write("Keep it: it is shown this once, only its digest is stored.")

    def list(self, user: User) -> None:
        for row in user.api_tokens.all():
            used = f"{row.last_used_at:%Y-%m-%d %H:%M}" if row.last_used_at else "never"
            until = f"{row.expires_at:%Y-%m-%d %H:%M}" if row.expires_at else "no end"
            self.stdout.write(f"{row.pk}\t{row.name}\tused {used}\tuntil {until}")
