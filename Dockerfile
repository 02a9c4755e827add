# One image for migrate, web, worker and beat; docker-compose.yml says which command each runs.
FROM node:22-slim AS frontend
WORKDIR /build
COPY frontend/package.json frontend/package-lock.json frontend/.npmrc ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY frontend/ ./
RUN node build.mjs

FROM python:3.11-slim
ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 TAS_NO_BOOTSTRAP=1 TAS_STATIC_ROOT=/app/static \
    DJANGO_SETTINGS_MODULE=tasweb.settings
WORKDIR /app
COPY requirements.lock ./
RUN pip install --no-cache-dir --require-hashes --no-deps -r requirements.lock
COPY . .
COPY --from=frontend /build/dist frontend/dist
RUN SECRET_KEY=build python manage.py compile_catalogues \
    && SECRET_KEY=build python manage.py collectstatic --noinput --verbosity 0 \
    && useradd --system --no-create-home tas
USER tas
EXPOSE 8000
CMD ["uvicorn", "tasweb.asgi:application", "--host", "0.0.0.0", "--port", "8000", "--ws", "websockets-sansio", "--no-access-log"]
