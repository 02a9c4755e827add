"""The project as an app: its commands and checks, and what the runtime role may do with Django's own tables."""

from typing import Any

from django.apps import AppConfig, apps
from django.conf import settings
from django.db import connections
from django.db.models.signals import post_migrate
from psycopg import sql

RIGHTS = ("select", "insert", "update", "delete")


def grant_to_runtime_role(using: str, **_kwargs: Any) -> None:
    """After migrations: let the runtime role use the tables of every app that does not see to that itself.

    `scheduling` does: its event log is append-only for that role.
    """
    connection = connections[using]
    role = settings.TAS_RUNTIME_ROLE
    tables = [
        model._meta.db_table
        for model in apps.get_models(include_auto_created=True)
        if model._meta.app_label != "scheduling" and model._meta.managed
    ]
    with connection.cursor() as cursor:
        cursor.execute("select current_user")
        if not role or cursor.fetchone() == (role,):
            return
        # Asked first because this also runs after every flush, where there is nothing to do.
        cursor.execute(
            "select t from unnest(%s) t where not has_table_privilege(%s, t, %s)",
            [tables, role, "select, insert, update, delete"],
        )
        for (table,) in cursor.fetchall():
            cursor.execute(
                sql.SQL("grant {} on table {} to {}").format(
                    sql.SQL(", ".join(RIGHTS)), sql.Identifier(table), sql.Identifier(role)
                )
            )


class TaswebConfig(AppConfig):
    name = "tasweb"

    def ready(self) -> None:
        from tasweb import checks  # noqa: F401

        post_migrate.connect(grant_to_runtime_role, sender=self)
