from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("scheduling", "0002_event_log")]

    operations = [
        migrations.AddField(
            model_name="noderow",
            name="zones",
            field=models.JSONField(
                default=list, help_text="[[NUMA zone, {resource: amount}]], empty when not told"
            ),
        ),
        migrations.AddField(
            model_name="podrow",
            name="zone",
            field=models.CharField(
                blank=True,
                default="",
                help_text="NUMA domain of its node that it was placed in.",
                max_length=507,
            ),
        ),
    ]
