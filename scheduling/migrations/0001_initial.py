"""The tables that Django makes by itself; the log follows in 0002."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Stream",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[("cluster", "Cluster"), ("scenario", "Scenario"), ("site", "Site")],
                        max_length=16,
                    ),
                ),
                ("name", models.CharField(max_length=253)),
            ],
        ),
        migrations.CreateModel(
            name="Command",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "stream_id",
                        "command_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("stream_id", models.BigIntegerField()),
                ("command_id", models.TextField()),
                ("fingerprint", models.BinaryField(help_text="SHA-256 of who asked for what.")),
                ("first_seq", models.BigIntegerField()),
                ("last_seq", models.BigIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="NodeRow",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "index",
                    models.IntegerField(
                        help_text="Given at first appearance, gapless in the cluster, never given again."
                    ),
                ),
                ("name", models.CharField(max_length=253)),
                ("uid", models.CharField(max_length=253)),
                ("labels", models.JSONField(help_text="{key: value}")),
                ("taints", models.JSONField(help_text="[[key, value, effect]]")),
                ("unschedulable", models.BooleanField()),
                ("ready", models.BooleanField()),
                ("allocatable", models.JSONField(help_text="{resource: amount}")),
                (
                    "used",
                    models.JSONField(
                        help_text="{resource: amount} of the pods on it, finished ones left out"
                    ),
                ),
                ("occupants", models.JSONField(help_text='[[group key or "", pods, gpus]], sorted')),
                ("gpus", models.IntegerField()),
                ("gpus_used", models.IntegerField()),
                ("removed", models.BooleanField(default=False)),
                ("since_seq", models.BigIntegerField(help_text="When the node of this uid appeared.")),
                ("changed_seq", models.BigIntegerField()),
                ("changed_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="PodGroupRow",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("namespace", models.CharField(max_length=63)),
                ("name", models.CharField(max_length=253)),
                ("generation", models.IntegerField()),
                ("uid", models.CharField(blank=True, max_length=253)),
                ("policy", models.CharField(blank=True, max_length=16)),
                ("min_count", models.IntegerField()),
                ("topology_key", models.CharField(blank=True, max_length=317)),
                ("priority", models.IntegerField(null=True)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("scheduled", "Scheduled"),
                            ("pending", "Pending"),
                            ("held", "Held"),
                            ("error", "Error"),
                            ("finished", "Finished"),
                            ("empty", "Empty"),
                        ],
                        max_length=16,
                    ),
                ),
                (
                    "degraded",
                    models.BooleanField(help_text="Some members are on nodes, but fewer than minCount."),
                ),
                ("verdict", models.CharField(blank=True, max_length=32)),
                ("reason", models.CharField(blank=True, max_length=32)),
                ("domain", models.CharField(blank=True, max_length=253)),
                ("fits", models.IntegerField()),
                ("need", models.IntegerField()),
                ("members", models.IntegerField(help_text="Members that exist and have not finished.")),
                ("bound", models.IntegerField(help_text="Those of them that are on a node.")),
                ("short_of", models.JSONField(default=list, help_text="[[resource, amount]]")),
                ("unmodelled", models.JSONField(default=list, help_text="Used by it or its members and not modelled.")),
                ("spec_unmodelled", models.JSONField(default=list, help_text="Those of its own spec.")),
                ("closed", models.BooleanField(default=False)),
                ("close_reason", models.CharField(blank=True, max_length=16)),
                ("created_at", models.DateTimeField()),
                ("waiting_since", models.DateTimeField(null=True)),
                ("status_since", models.DateTimeField()),
                (
                    "decision_seq",
                    models.BigIntegerField(help_text="Of the last event that decided about it.", null=True),
                ),
                ("changed_seq", models.BigIntegerField()),
                ("changed_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="PodRow",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.CharField(max_length=253)),
                ("namespace", models.CharField(max_length=63)),
                ("name", models.CharField(max_length=253)),
                ("node", models.CharField(blank=True, max_length=253)),
                (
                    "group",
                    models.CharField(
                        blank=True, help_text="Name of its PodGroup in its namespace.", max_length=253
                    ),
                ),
                ("phase", models.CharField(max_length=16)),
                ("terminating", models.BooleanField()),
                ("gated", models.BooleanField(default=False, help_text="It has scheduling gates.")),
                ("scheduler_name", models.CharField(max_length=253)),
                ("priority", models.IntegerField()),
                ("requests", models.JSONField(help_text="{resource: amount}")),
                (
                    "shape",
                    models.CharField(help_text="The same for pods that ask for the same.", max_length=16),
                ),
                (
                    "unmodelled",
                    models.JSONField(default=list, help_text="What it uses that the engine does not model."),
                ),
                ("created", models.DateTimeField(null=True)),
                ("removed", models.BooleanField(default=False)),
                ("added_seq", models.BigIntegerField()),
                ("changed_seq", models.BigIntegerField()),
                ("changed_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="ApiToken",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=100)),
                (
                    "digest",
                    models.CharField(
                        help_text="SHA-256 of the token, in hexadecimal.", max_length=64, unique=True
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("last_used_at", models.DateTimeField(blank=True, null=True)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="api_tokens",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["-created_at"],
            },
        ),
        migrations.CreateModel(
            name="Cluster",
            fields=[
                (
                    "stream",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        serialize=False,
                        to="scheduling.stream",
                    ),
                ),
                ("name", models.SlugField(max_length=63, unique=True)),
                (
                    "mode",
                    models.CharField(
                        choices=[("simulated", "Simulated"), ("observed", "Observed")], max_length=16
                    ),
                ),
                ("gates", models.JSONField(default=dict, help_text="{name: on}")),
                ("kubernetes_version", models.CharField(blank=True, max_length=64)),
                ("created_at", models.DateTimeField()),
                ("last_import_at", models.DateTimeField(null=True)),
                (
                    "last_cycle_seq",
                    models.BigIntegerField(
                        default=0, help_text="How far in the log the last cycle had read."
                    ),
                ),
                ("last_cycle_at", models.DateTimeField(null=True)),
            ],
            options={
                "ordering": ["name"],
                "permissions": [
                    ("operate_cluster", "Can import, submit, end groups, delete members and cordon"),
                    ("switch_gate", "Can switch feature gates"),
                ],
            },
        ),
        migrations.CreateModel(
            name="StreamHead",
            fields=[
                (
                    "stream",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="head",
                        serialize=False,
                        to="scheduling.stream",
                    ),
                ),
                ("seq", models.BigIntegerField(default=0)),
                (
                    "hash",
                    models.BinaryField(
                        default=b"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
                        help_text="Of the last event; 32 zero bytes before the first.",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="TableHead",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "stream_id", "name", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "stream",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="scheduling.stream"),
                ),
                ("name", models.CharField(max_length=32)),
                ("version", models.IntegerField()),
                ("seq", models.BigIntegerField()),
            ],
        ),
        migrations.AddConstraint(
            model_name="stream",
            constraint=models.UniqueConstraint(fields=("kind", "name"), name="stream_kind_name"),
        ),
        migrations.AddField(
            model_name="podrow",
            name="cluster",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="pods", to="scheduling.cluster"
            ),
        ),
        migrations.AddField(
            model_name="podgrouprow",
            name="cluster",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="pod_groups",
                to="scheduling.cluster",
            ),
        ),
        migrations.AddField(
            model_name="noderow",
            name="cluster",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="nodes", to="scheduling.cluster"
            ),
        ),
        migrations.AddIndex(
            model_name="podrow",
            index=models.Index(fields=["cluster", "namespace", "name"], name="podrow_name"),
        ),
        migrations.AddIndex(
            model_name="podrow",
            index=models.Index(
                condition=models.Q(("removed", False), models.Q(("node", ""), _negated=True)),
                fields=["cluster", "node"],
                name="podrow_node",
            ),
        ),
        migrations.AddIndex(
            model_name="podrow",
            index=models.Index(
                condition=models.Q(("group", ""), _negated=True),
                fields=["cluster", "namespace", "group"],
                name="podrow_group",
            ),
        ),
        migrations.AddConstraint(
            model_name="podrow",
            constraint=models.UniqueConstraint(fields=("cluster", "uid"), name="podrow_uid"),
        ),
        migrations.AddIndex(
            model_name="podgrouprow",
            index=models.Index(
                fields=["cluster", "namespace", "name", "-generation"], name="podgrouprow_generation"
            ),
        ),
        migrations.AddIndex(
            model_name="podgrouprow",
            index=models.Index(
                condition=models.Q(("closed", False)),
                fields=["cluster", "status", "waiting_since"],
                name="podgrouprow_open",
            ),
        ),
        migrations.AddIndex(
            model_name="podgrouprow",
            index=models.Index(fields=["cluster", "changed_seq"], name="podgrouprow_changed"),
        ),
        migrations.AddConstraint(
            model_name="podgrouprow",
            constraint=models.UniqueConstraint(
                fields=("cluster", "namespace", "name", "uid"), name="podgrouprow_object"
            ),
        ),
        migrations.AddIndex(
            model_name="noderow",
            index=models.Index(fields=["cluster", "changed_seq"], name="noderow_changed"),
        ),
        migrations.AddConstraint(
            model_name="noderow",
            constraint=models.UniqueConstraint(fields=("cluster", "name"), name="noderow_name"),
        ),
        migrations.AddConstraint(
            model_name="noderow",
            constraint=models.UniqueConstraint(fields=("cluster", "index"), name="noderow_index"),
        ),
    ]
