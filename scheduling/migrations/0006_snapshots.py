"""The head of a stream keeps when its last event was recorded, so that no later one is recorded before it."""

import datetime

from django.db import migrations, models

FILL = """
update scheduling_streamhead h set recorded_at = e.latest
from (select stream_id, max(recorded_at) as latest from scheduling_event group by stream_id) e
where e.stream_id = h.stream_id
"""


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
    ]
