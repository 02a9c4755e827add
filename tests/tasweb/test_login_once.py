"""The sign-in link of `up`: works once, for ten minutes, for active users."""

from datetime import datetime, timedelta

import pytest
from django.contrib.auth.models import User

from tasweb import login_links

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin():
    return User.objects.create_superuser("admin", password=None)


def signed_in(client):
    return "_auth_user_id" in client.session


def test_the_link_signs_the_user_in(client, admin):
    answer = client.get(f"/login/once/{login_links.create(admin)}/")
    assert (answer.status_code, answer.url) == (302, "/")
    assert client.session["_auth_user_id"] == str(admin.pk)


def test_the_link_works_once(client, admin):
    address = f"/login/once/{login_links.create(admin)}/"
    client.get(address)
    client.logout()
    answer = client.get(address)
    assert (answer.status_code, answer.url) == (302, "/login/")
    assert not signed_in(client)


def test_a_link_made_in_the_second_of_the_last_sign_in_works_once_too(client, admin, monkeypatch):
    frozen = datetime(2030, 1, 1, 12, 0, 0)
    monkeypatch.setattr(login_links._tokens, "_now", lambda: frozen)
    for _ in range(2):
        admin.refresh_from_db()
        address = f"/login/once/{login_links.create(admin)}/"
        client.get(address)
        assert signed_in(client)
        client.logout()
        client.get(address)
        assert not signed_in(client)


def test_the_link_dies_after_ten_minutes(client, admin, monkeypatch):
    token = login_links.create(admin)
    later = datetime.now() + timedelta(seconds=login_links.LIFETIME_SECONDS + 2)
    monkeypatch.setattr(login_links._tokens, "_now", lambda: later)
    client.get(f"/login/once/{token}/")
    assert not signed_in(client)


@pytest.mark.parametrize("token", ["x", "MQ.x-y", "%FF.a-b", "é", ".", "MQ"])
def test_a_forged_link_leads_to_the_sign_in_page(client, admin, token):
    answer = client.get(f"/login/once/{token}/")
    assert (answer.status_code, answer.url) == (302, "/login/")
    assert not signed_in(client)


def test_a_link_of_another_user_does_not_fit(client, admin):
    other = User.objects.create_user("other")
    stolen = login_links.create(other).split(".")[0] + "." + login_links.create(admin).split(".")[1]
    client.get(f"/login/once/{stolen}/")
    assert not signed_in(client)


def test_a_link_of_a_deactivated_user_is_void(client, admin):
    token = login_links.create(admin)
    User.objects.update(is_active=False)
    client.get(f"/login/once/{token}/")
    assert not signed_in(client)


def test_a_look_ahead_by_head_does_not_use_the_link_up(client, admin):
    address = f"/login/once/{login_links.create(admin)}/"
    assert client.head(address).status_code == 405
    client.get(address)
    assert signed_in(client)


def test_a_void_link_says_so_on_the_sign_in_page_and_how_to_get_another(client, admin):
    address = f"/login/once/{login_links.create(admin)}/"
    client.get(address)
    client.logout()
    page = client.get(address, follow=True).content.decode()
    assert "This sign-in link was used before or is too old." in page
    assert "manage.py up" in page and "manage.py changepassword" in page


def test_a_plain_visit_of_the_sign_in_page_says_nothing(client, admin):
    assert "sign-in link" not in client.get("/login/").content.decode()
