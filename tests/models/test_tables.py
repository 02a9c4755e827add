"""What every installation has after migrate."""

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction

from scheduling import groups, runtime_role
from scheduling.models import ApiToken, Event, Stream

pytestmark = pytest.mark.django_db


def test_no_change_of_a_model_is_without_its_migration() -> None:
    call_command("makemigrations", "scheduling", check=True, dry_run=True, verbosity=0)


@pytest.mark.parametrize(
    ("name", "may"),
    [
        ("viewers", {"view_cluster"}),
        ("operators", {"view_cluster", "operate_cluster"}),
        ("admins", {"view_cluster", "operate_cluster", "switch_gate"}),
    ],
)
def test_each_group_of_people_may_do_what_it_is_for(name: str, may: set[str]) -> None:
    user = User.objects.create_user("ada")
    user.groups.add(Group.objects.get(name=name))
    everything = {
        "view_cluster",
        "operate_cluster",
        "switch_gate",
        "add_cluster",
        "change_cluster",
        "delete_cluster",
    }
    assert {permission for permission in everything if user.has_perm(f"scheduling.{permission}")} == may


def test_migrating_again_keeps_what_an_installation_added_to_a_group() -> None:
    viewers = Group.objects.get(name="viewers")
    more = Permission.objects.get(codename="switch_gate")
    viewers.permissions.add(more)
    groups.make(using="default")
    assert more in viewers.permissions.all()
    assert Group.objects.filter(name="viewers").count() == 1


def test_granting_again_changes_nothing() -> None:
    def rights() -> list[tuple[str, str]]:
        with connection.cursor() as cursor:
            cursor.execute(
                "select table_name, string_agg(privilege_type, ',' order by privilege_type) "
                "from information_schema.role_table_grants where grantee = %s group by 1 order by 1",
                [runtime_role.name()],
            )
            return cursor.fetchall()

    before = rights()
    assert ("scheduling_event", "INSERT,SELECT") in before
    assert ("scheduling_command", "INSERT,SELECT") in before
    assert ("scheduling_noderow", "DELETE,INSERT,SELECT,UPDATE") in before
    runtime_role.grant(using="default")
    assert rights() == before


def test_the_names_of_streams_are_unique_within_their_kind() -> None:
    Stream.objects.create(kind="cluster", name="demo")
    Stream.objects.create(kind="scenario", name="demo")
    with pytest.raises(IntegrityError), transaction.atomic():
        Stream.objects.create(kind="cluster", name="demo")


def test_there_is_no_column_for_a_token_itself() -> None:
    assert {field.name for field in ApiToken._meta.get_fields()} == {
        "id", "user", "name", "digest", "created_at", "last_used_at", "expires_at",
    }  # fmt: skip


def test_every_index_that_the_event_model_names_exists_on_each_partition() -> None:
    with connection.cursor() as cursor:
        cursor.execute("select indexname from pg_indexes where tablename = 'scheduling_event'")
        assert {index.name for index in Event._meta.indexes} <= {row[0] for row in cursor.fetchall()}
        cursor.execute("select relkind from pg_class where relname = 'scheduling_event'")
        assert cursor.fetchone() == ("p",)


def test_the_log_can_be_taken_back_to_before_it_was_made() -> None:
    """The reverse of the migration is good for a development database; with events in it nobody runs it."""
    call_command("migrate", "scheduling", "0001", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute("select to_regclass('scheduling_event')")
        assert cursor.fetchone() == (None,)
    call_command("migrate", "scheduling", verbosity=0)
    assert Event.objects.count() == 0
