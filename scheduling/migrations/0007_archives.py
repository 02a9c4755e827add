"""Where events are that are in files, and what clusters were after them.

The role of the runtime may read both and write neither (``runtime_role``), and the function by which it opens
partitions opens none in the place of one that was archived: what it could write there, nobody would check.
"""

import django.db.models.deletion
from django.db import migrations, models

def open_partition(refusal: str) -> str:
    """The function of 0002, with more that it refuses."""
    return f"""
create or replace function scheduling_open_partition(stream bigint, block bigint) returns void
language plpgsql security definer as $$
declare
    width constant bigint := 1000000;
    partition constant text := format('scheduling_event_%s_%s', stream, block);
    grantee oid;
begin
    -- Attaching takes this lock anyway; taken first, it makes the look for the table and the making of it one step.
    lock table scheduling_event in share update exclusive mode;
    if to_regclass(partition) is not null then
        return;
    end if;
    if not exists (select from scheduling_stream where id = stream) or block < 0 then
        raise exception 'no stream %, block %', stream, block using errcode = 'foreign_key_violation';
    end if;
    {refusal}
    execute format('create table %I (like scheduling_event including all)', partition);
    -- The owner's default privileges are for tables that are changed; this one is reached through its parent only.
    for grantee in
        select distinct a.grantee from pg_class c, aclexplode(c.relacl) a
        where c.oid = to_regclass(partition) and a.grantee <> c.relowner
    loop
        execute format('revoke all on %I from %s', partition,
                       case when grantee = 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end);
    end loop;
    execute format('alter table scheduling_event attach partition %I for values from (%s, %s) to (%s, %s)',
                   partition, stream, block * width + 1, stream, (block + 1) * width + 1);
    perform scheduling_protect(to_regclass(partition));
end $$;

-- As the owner it must find its own tables and no one's temporary ones; replacing it took that away.
do $$
begin
    execute format('alter function scheduling_open_partition(bigint, bigint) set search_path = %I, pg_temp',
                   current_schema());
end $$;
"""


REFUSE_ARCHIVED = """
    if exists (select from scheduling_archive where stream_id = stream and last_seq > block * width) then
        raise exception 'events of stream %, block % are archived', stream, block
            using errcode = 'restrict_violation';
    end if;
"""


class Migration(migrations.Migration):
    dependencies = [("scheduling", "0006_snapshots")]

    operations = [
        migrations.CreateModel(
            name="Archive",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "stream_id",
                        "first_seq",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("first_seq", models.BigIntegerField()),
                ("last_seq", models.BigIntegerField()),
                ("prev_hash", models.BinaryField(help_text="Of the event before the first.")),
                ("hash", models.BinaryField(help_text="Of the last event.")),
                ("first_at", models.DateTimeField(help_text="When the first event was recorded.")),
                ("last_at", models.DateTimeField(help_text="When the last event was recorded.")),
                ("file", models.TextField(help_text="Name of the file, without a folder.")),
                ("size", models.BigIntegerField(help_text="Of the file, in bytes.")),
                ("sha256", models.CharField(help_text="Of the file, in hexadecimal.", max_length=64)),
                ("told_seq", models.BigIntegerField(help_text="The event that tells it.")),
                (
                    "stream",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="archives",
                        to="scheduling.stream",
                    ),
                ),
            ],
            options={"ordering": ["stream_id", "first_seq"]},
        ),
        migrations.CreateModel(
            name="Base",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "stream_id", "seq", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("seq", models.BigIntegerField()),
                ("hash", models.BinaryField(help_text="Of the event at seq.")),
                ("versions", models.JSONField(help_text="{part: version}")),
                ("state", models.BinaryField(help_text="As ledger.bases packs it.")),
                ("tables", models.BinaryField(help_text="As projections.bases packs the rows.")),
                (
                    "tables_seq",
                    models.BigIntegerField(
                        help_text="Where the rows stand: at the end of the append that seq is part of."
                    ),
                ),
                (
                    "stream",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="bases",
                        to="scheduling.stream",
                    ),
                ),
            ],
        ),
        migrations.RunSQL(open_partition(REFUSE_ARCHIVED), open_partition("")),
    ]
