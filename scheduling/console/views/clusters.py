"""The list of clusters: mode, gates, size, what waits, and when each was last looked at."""

from django.http import HttpRequest, HttpResponse

from scheduling.console.access import VIEW, page
from scheduling.console.pages import show
from scheduling.selectors import clusters


@page(VIEW)
def cluster_list(request: HttpRequest) -> HttpResponse:
    return show(request, "clusters.html", {"summaries": clusters.summaries()}, here="clusters")
