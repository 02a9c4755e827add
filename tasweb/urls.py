"""Every address of the site."""

from django.contrib import admin
from django.contrib.auth.views import LoginView, LogoutView
from django.urls import include, path
from django.views.i18n import JavaScriptCatalog

from scheduling.api.urls import api
from tasweb import views

handler500 = "tasweb.views.failure"

urlpatterns = [
    path("health", views.health, name="health"),
    path("metrics", views.metrics, name="metrics"),
    path("login/", LoginView.as_view(redirect_authenticated_user=True), name="login"),
    path("login/once/<str:token>/", views.login_once, name="login-once"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("i18n/", include("django.conf.urls.i18n")),
    path("jsi18n/", JavaScriptCatalog.as_view(packages=["scheduling"]), name="javascript-catalog"),
    path("admin/", admin.site.urls),
    path("api/v1/", api.urls),
    path("", include("scheduling.console.urls")),
]
