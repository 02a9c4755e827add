"""Checks of `manage.py check`; those tagged deploy run with `--deploy`."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.db import OperationalError, connection


@register(Tags.security, deploy=True)
def hosts_are_named(**_kwargs: Any) -> list[CheckMessage]:
    """With '*' the live socket would accept pages of any site, and even none."""
    if any(host == "*" for host in settings.ALLOWED_HOSTS):
        return [
            Error("ALLOWED_HOSTS contains '*'.", hint="Name the hosts that people type.", id="tasweb.E001")
        ]
    return []


@register(Tags.database, deploy=True)
def runtime_role_owns_nothing(databases: Any = None, **_kwargs: Any) -> list[CheckMessage]:
    """The append-only log is only as strong as the role that writes to it: no superuser, no owner of its
    tables."""
    if not databases:
        return []
    try:
        with connection.cursor() as cursor:
            cursor.execute("select rolsuper from pg_roles where rolname = current_user")
            superuser = cursor.fetchone() == (True,)
            cursor.execute(
                "select count(*) from pg_class"
                " where relowner = current_user::regrole and relkind in ('r', 'p')"
            )
            (owned,) = cursor.fetchone()
    except OperationalError as error:
        return [Error(f"The database does not answer: {error}", id="tasweb.E002")]
    found: list[CheckMessage] = []
    hint = "Give DATABASE_URL a role of its own and DATABASE_OWNER_URL the owner (docs/operations.md)."
    if superuser:
        found.append(Error("The console runs as a database superuser.", hint=hint, id="tasweb.E003"))
    elif owned:
        found.append(Error(f"The role of the console owns {owned} tables.", hint=hint, id="tasweb.E004"))
    return found


@register(Tags.security, deploy=True)
def messages_outlive_tasks(**_kwargs: Any) -> list[CheckMessage]:
    """A message that comes back while its task still runs would run the task twice."""
    limit = settings.CELERY_TASK_TIME_LIMIT
    if limit >= settings.CELERY_BROKER_TRANSPORT_OPTIONS["visibility_timeout"]:
        return [Error("CELERY_TASK_TIME_LIMIT is not below the visibility timeout.", id="tasweb.E005")]
    return []
