"""GPUs of a node as 64 bits: an extended resource may be counted in more than 32."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("scheduling", "0004_cluster_retry_at")]

    operations = [
        migrations.AlterField("noderow", "gpus", models.BigIntegerField()),
        migrations.AlterField("noderow", "gpus_used", models.BigIntegerField()),
    ]
