"""The log: a partitioned table to which rows can be added, and nothing else.

Partitions. The table is partitioned by range of (stream_id, seq): each stream has its own partitions, of a million
events each. So (stream_id, seq) is the primary key of the whole table, which it could not be with partitions by time
(PostgreSQL wants the partition key inside every unique key), and old events are detached one stream at a time: a
finished scenario run as a whole, a long-lived cluster up to a seq from which its state is kept. Partitions by seq alone
would take the whole life of a young cluster together with the youth of an old one.

The runtime's role owns nothing, so it opens partitions through a function that runs as the owner and can do only that.
It attaches a table made beforehand instead of CREATE TABLE ... PARTITION OF, for attaching does not block appends and
reads of other streams; openings wait for one another until commit.

Append-only. Row triggers refuse UPDATE and DELETE (MERGE and ON CONFLICT included), statement triggers TRUNCATE, on the
parent and on every partition; ENABLE ALWAYS, so that they also fire for sessions in replica mode. Test runs flush with
TRUNCATE and say so in the session; only the owner may truncate at all.
"""

from django.db import migrations, models

MAKE = """
create table scheduling_event (
    stream_id bigint not null,
    seq bigint not null check (seq > 0),
    type text not null,
    version smallint not null,
    occurred_at timestamptz not null,
    recorded_at timestamptz not null,
    actor text not null,
    command_id text not null,
    cause bigint,
    subject text not null,
    namespace text not null,
    name text not null,
    body text not null,
    prev_hash bytea not null check (length(prev_hash) = 32),
    hash bytea not null check (length(hash) = 32),
    primary key (stream_id, seq)
) partition by range (stream_id, seq);
create index event_type on scheduling_event (stream_id, type, seq);
create index event_object on scheduling_event (stream_id, subject, namespace, name, seq);

-- Every append rewrites the head row: room in its page lets it stay there.
alter table scheduling_streamhead set (fillfactor = 50);

create function scheduling_refuse_change() returns trigger language plpgsql as $$
begin
    if tg_op = 'TRUNCATE' and current_setting('tas.test_database', true) = 'on' then
        return null;
    end if;
    raise exception '% of % refused: the event log can only be added to', tg_op, tg_table_name
        using errcode = 'restrict_violation';
end $$;

create function scheduling_protect(target regclass) returns void language plpgsql as $$
begin
    -- A partition gets the row trigger from its parent when it is attached.
    if not (select relispartition from pg_class where oid = target) then
        execute format('create trigger append_only_rows before update or delete on %s
                        for each row execute function scheduling_refuse_change()', target);
        execute format('alter table %s enable always trigger append_only_rows', target);
    end if;
    execute format('create trigger append_only_table before truncate on %s
                    for each statement execute function scheduling_refuse_change()', target);
    execute format('alter table %s enable always trigger append_only_table', target);
end $$;

create function scheduling_open_partition(stream bigint, block bigint) returns void
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
revoke all on function scheduling_open_partition(bigint, bigint) from public;
revoke all on function scheduling_protect(regclass) from public;

-- As the owner it must find its own tables and no one's temporary ones.
do $$
begin
    execute format('alter function scheduling_open_partition(bigint, bigint) set search_path = %I, pg_temp',
                   current_schema());
end $$;

select scheduling_protect('scheduling_event');
select scheduling_protect('scheduling_command');
"""

UNMAKE = """
drop table scheduling_event;
drop trigger append_only_rows on scheduling_command;
drop trigger append_only_table on scheduling_command;
drop function scheduling_open_partition(bigint, bigint);
drop function scheduling_protect(regclass);
drop function scheduling_refuse_change();
"""


class Migration(migrations.Migration):
    dependencies = [("scheduling", "0001_initial")]

    operations = [
        migrations.RunSQL(
            MAKE,
            UNMAKE,
            state_operations=[
                migrations.CreateModel(
                    name="Event",
                    fields=[
                        (
                            "pk",
                            models.CompositePrimaryKey(
                                "stream_id",
                                "seq",
                                blank=True,
                                editable=False,
                                primary_key=True,
                                serialize=False,
                            ),
                        ),
                        ("stream_id", models.BigIntegerField()),
                        ("seq", models.BigIntegerField()),
                        ("type", models.TextField()),
                        ("version", models.SmallIntegerField()),
                        ("occurred_at", models.DateTimeField()),
                        ("recorded_at", models.DateTimeField()),
                        ("actor", models.TextField()),
                        ("command_id", models.TextField()),
                        ("cause", models.BigIntegerField(null=True)),
                        ("subject", models.TextField(help_text="Kind of the object it is about.")),
                        ("namespace", models.TextField()),
                        ("name", models.TextField()),
                        ("body", models.TextField(help_text="Canonical JSON, integers only.")),
                        ("prev_hash", models.BinaryField()),
                        ("hash", models.BinaryField()),
                    ],
                ),
                migrations.AddIndex(
                    model_name="event",
                    index=models.Index(fields=["stream_id", "type", "seq"], name="event_type"),
                ),
                migrations.AddIndex(
                    model_name="event",
                    index=models.Index(
                        fields=["stream_id", "subject", "namespace", "name", "seq"], name="event_object"
                    ),
                ),
            ],
        ),
    ]
