"""What superusers may look at in the admin. Nothing can be changed there: services are the only way in."""

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from scheduling.models import ApiToken, Cluster, NodeRow, PodGroupRow, PodRow, Stream


class ReadOnly(admin.ModelAdmin):
    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


@admin.register(Stream)
class StreamAdmin(ReadOnly):
    list_display = ("kind", "name", "seq")
    list_filter = ("kind",)
    list_select_related = ("head",)

    @admin.display(description="head")
    def seq(self, stream: Stream) -> int:
        return stream.head.seq


@admin.register(Cluster)
class ClusterAdmin(ReadOnly):
    list_display = ("name", "mode", "kubernetes_version", "created_at", "last_import_at", "last_cycle_seq")


@admin.register(NodeRow)
class NodeRowAdmin(ReadOnly):
    list_display = ("name", "cluster", "ready", "unschedulable", "gpus", "gpus_used", "removed")
    list_filter = ("cluster", "removed")
    search_fields = ("name",)


@admin.register(PodRow)
class PodRowAdmin(ReadOnly):
    list_display = ("name", "namespace", "cluster", "group", "node", "phase", "removed")
    list_filter = ("cluster", "removed")
    search_fields = ("name",)


@admin.register(PodGroupRow)
class PodGroupRowAdmin(ReadOnly):
    list_display = ("name", "namespace", "cluster", "generation", "status", "bound", "min_count", "closed")
    list_filter = ("cluster", "status", "closed")
    search_fields = ("name",)


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnly):
    list_display = ("name", "user", "created_at", "last_used_at", "expires_at")
    exclude = ("digest",)
