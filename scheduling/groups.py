"""The groups of people that every installation has, and what each of them may do."""

from typing import Any

from django.contrib.auth.models import Group, Permission

GROUPS = {
    "viewers": ("view_cluster",),
    "operators": ("view_cluster", "operate_cluster", "run_scenario"),
    "admins": ("view_cluster", "operate_cluster", "switch_gate", "run_scenario"),
}
"""Group -> permissions on clusters. Superusers have all of them without a group."""


def make(*, using: str, **_: Any) -> None:
    """After migrate: add missing groups and missing permissions; what an installation added stays."""
    wanted = {name for names in GROUPS.values() for name in names}
    found = {
        permission.codename: permission
        for permission in Permission.objects.using(using).filter(
            content_type__app_label="scheduling", content_type__model="cluster", codename__in=wanted
        )
    }
    if found.keys() != wanted:
        return  # migrated to a state before the permissions existed; the next migrate comes here again
    for name, codenames in GROUPS.items():
        group, _made = Group.objects.using(using).get_or_create(name=name)
        group.permissions.add(*(found[codename] for codename in codenames))
