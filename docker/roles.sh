#!/bin/sh
# Runs once, when the database is made: the runtime role, which owns nothing. Migrations grant it its rights.
set -eu
psql --set ON_ERROR_STOP=1 --set password="$TAS_APP_PASSWORD" --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
create role tas_app login password :'password' nosuperuser nocreatedb nocreaterole;
SQL
