"""Addresses of the pages. Every name here is in the table of tests/console/test_access.py."""

from django.urls import path

import scheduling.addresses  # noqa: F401  # the converter "quoted"
from scheduling.console.views import (
    cluster_settings,
    clusters,
    compare,
    domains,
    event,
    history,
    home,
    imports,
    nodes,
    pending,
    pod_group,
    pod_groups,
    queues,
    rack_map,
    remedies,
    reservations,
    submit,
    user_settings,
)

GROUP = "c/<slug:cluster>/podgroups/<str:namespace>/<str:name>"

urlpatterns = [
    path("", home.home, name="home"),
    path("clusters/", clusters.cluster_list, name="clusters"),
    path("clusters/import/", imports.import_page, name="import"),
    path("clusters/demo/", clusters.make_demo, name="make-demo"),
    path("c/<slug:cluster>/", rack_map.first_page, name="cluster"),
    path("c/<slug:cluster>/map", rack_map.map_page, name="map"),
    path("c/<slug:cluster>/map/group", rack_map.picked_group, name="map-group"),
    path("c/<slug:cluster>/pending", pending.pending_page, name="pending"),
    path("c/<slug:cluster>/pending/count", pending.pending_count, name="pending-count"),
    path("c/<slug:cluster>/podgroups/", pod_groups.pod_group_list, name="pod-groups"),
    path(GROUP, pod_group.pod_group_page, name="pod-group"),
    path(f"{GROUP}/g/<int:generation>", pod_group.pod_group_page, name="pod-group-generation"),
    path(f"{GROUP}/end", pod_group.end, name="pod-group-end"),
    path(f"{GROUP}/changes", remedies.changes, name="pod-group-changes"),
    path(f"{GROUP}/upstream", remedies.upstream, name="pod-group-upstream"),
    path(f"{GROUP}/pods/<quoted:uid>/delete", pod_group.delete_member, name="member-delete"),
    path("c/<slug:cluster>/domains/", domains.domain_list, name="domains"),
    path("c/<slug:cluster>/domains/<path:value>", domains.domain_page, name="domain"),
    path("c/<slug:cluster>/nodes/", nodes.node_list, name="nodes"),
    path("c/<slug:cluster>/nodes/<str:node>", nodes.node_page, name="node"),
    path("c/<slug:cluster>/nodes/<str:node>/cordon", nodes.cordon, name="node-cordon"),
    path("c/<slug:cluster>/nodes/<str:node>/uncordon", nodes.uncordon, name="node-uncordon"),
    path("c/<slug:cluster>/reservations", reservations.reservations_page, name="reservations"),
    path(
        "c/<slug:cluster>/reservations/<str:name>/release", reservations.release, name="reservation-release"
    ),
    path("c/<slug:cluster>/queues", queues.queues_page, name="queues"),
    path("c/<slug:cluster>/queues/<str:name>/remove", queues.remove, name="queue-remove"),
    path("c/<slug:cluster>/history", history.history_list, name="history"),
    path("c/<slug:cluster>/history.csv", history.export, {"form": "csv"}, name="history-csv"),
    path("c/<slug:cluster>/history.ndjson", history.export, {"form": "ndjson"}, name="history-ndjson"),
    path("c/<slug:cluster>/history/<int:seq>", event.event_page, name="event"),
    path("c/<slug:cluster>/history/<int:seq>/state", event.event_state, name="event-state"),
    path("c/<slug:cluster>/compare", compare.compare_page, name="compare"),
    path("c/<slug:cluster>/submit", submit.submit_page, name="submit"),
    path("c/<slug:cluster>/settings", cluster_settings.settings_page, name="cluster-settings"),
    path("c/<slug:cluster>/gates-banner", cluster_settings.gates_banner, name="gates-banner"),
    path("c/<slug:cluster>/gates/<str:gate>", cluster_settings.gate, name="gate"),
    path("c/<slug:cluster>/mode", cluster_settings.mode, name="mode"),
    path("settings", user_settings.settings_page, name="settings"),
    path("settings/zone", user_settings.choose_zone, name="choose-zone"),
    path("settings/tokens", user_settings.create_token, name="token-create"),
    path("settings/tokens/<int:token>/revoke", user_settings.revoke_token, name="token-revoke"),
]
