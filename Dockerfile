# The service. Build: docker build --tag fairbai .   Run it with PostgreSQL: compose.yaml, docs/service.md
FROM python:3.12-slim AS build
WORKDIR /build
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN python -m venv /venv \
    && /venv/bin/pip install --no-cache-dir ".[service]"

FROM python:3.12-slim
RUN useradd --create-home --uid 10001 fairbai \
    && mkdir /data /cache \
    && chown fairbai /data /cache
COPY --from=build /venv /venv
ENV PATH=/venv/bin:$PATH \
    FAIRBAI_CACHE_DIR=/cache
USER fairbai
WORKDIR /data
# Fail here if anything that is needed is wrong, and compile the kernels, for the kind of CPU that builds the image. On
# another kind they run as Python until they are compiled there; NUMBA_CPU_NAME=generic in ENV above suits all kinds.
RUN fairbai doctor --quiet \
    && fairbai warm
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
CMD ["fairbai", "serve", "--host", "0.0.0.0"]
