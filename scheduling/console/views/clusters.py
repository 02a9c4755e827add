"""The list of clusters: mode, gates, size, what waits, and when each was last looked at."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext

from scheduling.console.access import OPERATE, VIEW, page
from scheduling.console.commands import carry_out
from scheduling.console.pages import show
from scheduling.selectors import clusters
from scheduling.services import demo


@page(VIEW)
def cluster_list(request: HttpRequest) -> HttpResponse:
    return show(request, "clusters.html", {"summaries": clusters.summaries()}, here="clusters")


@page(OPERATE, "GET", "HEAD", "POST")
def make_demo(request: HttpRequest) -> HttpResponse:
    """A made-up cluster to look around in; making it twice makes it once. GET leads to it, or to what there
    is.
    """
    if request.method != "POST":
        return redirect(reverse("home") + f"?cluster={demo.NAME}")
    done = gettext("The demo cluster is there: 16 racks, running gangs, and one that waits.")
    return carry_out(request, demo.load_demo, done, reverse("home") + f"?cluster={demo.NAME}")
