"""The app: after every migration people's groups and the runtime's database role get what they are to
have.
"""

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class SchedulingConfig(AppConfig):
    name = "scheduling"

    def ready(self) -> None:
        from scheduling import groups, runtime_role, tasks
        from scheduling.live import publisher

        post_migrate.connect(groups.make, sender=self, dispatch_uid="scheduling.groups")
        post_migrate.connect(runtime_role.grant, sender=self, dispatch_uid="scheduling.runtime_role")
        # After a commit: waiting browsers hear of it, and a cycle starts where it could help.
        publisher.connect()
        tasks.connect()
