"""``/``: leads to the map of the cluster seen last, or to the list of clusters."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from scheduling.console.access import VIEW, page
from scheduling.console.pages import LAST_CLUSTER
from scheduling.selectors import clusters


@page(VIEW)
def home(request: HttpRequest) -> HttpResponse:
    names = clusters.names()
    if not names:
        return redirect("clusters")
    last = request.GET.get("cluster") or request.session.get(LAST_CLUSTER)
    return redirect("map", cluster=last if last in names else names[0])
