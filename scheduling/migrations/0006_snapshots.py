"""Snapshots of states; and the head of a stream keeps when its last event was recorded, so that no later one is
recorded before it.
"""

import datetime

import django.db.models.deletion
from django.db import migrations, models

FILL = """
update scheduling_streamhead h set recorded_at = e.latest
from (select stream_id, max(recorded_at) as latest from scheduling_event group by stream_id) e
where e.stream_id = h.stream_id
"""


# Read whole and unpacked at once: compressing it would cost more than the room it takes.
STORE = "alter table scheduling_snapshot alter column data set storage external"


class Migration(migrations.Migration):
    dependencies = [("scheduling", "0005_wide_gpu_counts")]

    operations = [
        migrations.AddField(
            model_name="streamhead",
            name="recorded_at",
            field=models.DateTimeField(
                default=datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC),
                help_text="Of the last event; the epoch before the first.",
            ),
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        migrations.CreateModel(
            name="Snapshot",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("seq", models.BigIntegerField()),
                ("hash", models.BinaryField()),
                (
                    "format",
                    models.CharField(
                        help_text="Which version of the console can read it.", max_length=32
                    ),
                ),
                ("data", models.BinaryField()),
                ("taken_at", models.DateTimeField(auto_now_add=True)),
                (
                    "stream",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="snapshots",
                        to="scheduling.stream",
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="snapshot",
            constraint=models.UniqueConstraint(fields=("stream", "seq", "format"), name="snapshot_seq"),
        ),
        migrations.RunSQL(STORE, migrations.RunSQL.noop),
    ]
