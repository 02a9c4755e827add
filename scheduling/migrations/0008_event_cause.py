"""What an event led to is found by an index; events without a cause cost it nothing."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("scheduling", "0007_archives")]

    operations = [
        migrations.AddIndex(
            model_name="event",
            index=models.Index(
                fields=["stream_id", "cause", "seq"],
                condition=models.Q(("cause__isnull", False)),
                name="event_cause",
            ),
        ),
    ]
