"""The sample configuration of nginx, with nginx itself in front of a server."""

from __future__ import annotations

import re
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from fairbai.client import Client
from tests.debian import program
from tests.service.conftest import Start
from tests.service.server import Server, free_port

SAMPLE = Path(__file__).parents[2] / "deploy" / "nginx.conf"
NAME = "fairbai.example.org"
WRAPPED = """
user root;
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/fairbai.conf;
}}
"""


class Proxy:
    """A running nginx."""

    def __init__(self, folder: Path, server: Server) -> None:
        self.plain, self.secure = free_port(), free_port()
        self._folder = folder
        certify(folder)
        changes = {
            "listen 80;": f"listen 127.0.0.1:{self.plain};",
            "listen 443 ssl": f"listen 127.0.0.1:{self.secure} ssl",
            "server 127.0.0.1:8000;": f"server 127.0.0.1:{server.port};",
            "/etc/ssl/fairbai/": f"{folder}/",
        }
        text = SAMPLE.read_text()
        for before, after in changes.items():
            assert before in text
            text = text.replace(before, after)
        (folder / "fairbai.conf").write_text(text)
        (folder / "nginx.conf").write_text(WRAPPED.format(folder=folder))
        command = [program("nginx", "nginx"), "-p", folder, "-e", folder / "error.log", "-c", folder / "nginx.conf"]
        self._process = subprocess.Popen(command)

    def client(self, address: str = "127.0.0.2", **options: Any) -> httpx.Client:
        """A client at an address of its own, which checks the certificate."""
        trusted = ssl.create_default_context(cafile=str(self._folder / "fullchain.pem"))
        transport = Named(verify=trusted, local_address=address, retries=20)
        return httpx.Client(transport=transport, base_url=f"https://{NAME}:{self.secure}", timeout=60.0, **options)

    def wait(self) -> None:
        """Wait until it answers."""
        give_up = time.monotonic() + 120.0
        while True:
            try:
                with self.client() as http:
                    assert http.get("/healthz").status_code == 200
                return
            except httpx.ConnectError:
                assert self._process.poll() is None, (self._folder / "error.log").read_text()
                assert time.monotonic() < give_up
                time.sleep(0.05)

    def stop(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait(120)


class Named(httpx.HTTPTransport):
    """Sends requests to a name to this machine."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        name = request.url.host
        request.url = request.url.copy_with(host="127.0.0.1")
        request.extensions = {**request.extensions, "sni_hostname": name}
        return super().handle_request(request)


def certify(folder: Path) -> None:
    """A certificate for the name of the sample."""
    command = [program("openssl", "openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-days", "2", "-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}"]
    command += ["-keyout", str(folder / "privkey.pem"), "-out", str(folder / "fullchain.pem")]
    subprocess.run(command, check=True, capture_output=True)


@contextmanager
def proxied(server: Server, folder: Path) -> Iterator[Proxy]:
    """nginx in front of a server."""
    folder.mkdir()
    proxy = Proxy(folder, server)
    try:
        proxy.wait()
        yield proxy
    finally:
        proxy.stop()


def test_the_sample_says_how_to_start_the_service() -> None:
    """What it says is what the parser takes, and its times fit the limits."""
    from fairbai.cli.parser import make_parser
    from fairbai.service.storage.limits import Limits

    command = re.findall(r"^#\s+fairbai (serve .*)$", SAMPLE.read_text(), re.MULTILINE)[0].split()
    options = make_parser().parse_args(command)
    assert (options.trusted_proxies, options.port) == ("127.0.0.1", 8000)
    assert int(re.findall(r"keepalive_timeout (\d+)s;  #", SAMPLE.read_text())[0]) < Limits().idle_seconds


@pytest.mark.system
def test_nginx_in_front_of_the_service(start: Start, sqlite: str, tmp_path: Path) -> None:
    server = start(sqlite, arguments=["--trusted-proxies", "127.0.0.1", "--access-log"])
    key = {"Authorization": f"Bearer {server.key}"}
    with proxied(server, tmp_path / "nginx") as proxy:
        _redirects_to_tls(proxy)
        with proxy.client(headers=key) as http:
            _shows_the_client(http, server)
            _limits_bodies_and_headers(http)
            _serves_experiments(http, server)
        _streams_at_once(proxy, server, key)
        _signs_in_with_a_secure_cookie(proxy, server)


def _redirects_to_tls(proxy: Proxy) -> None:
    plain = httpx.get(f"http://127.0.0.1:{proxy.plain}/plan?a=b", headers={"Host": NAME}, timeout=60.0)
    assert (plain.status_code, plain.headers["location"]) == (301, f"https://{NAME}/plan?a=b")


def _shows_the_client(http: httpx.Client, server: Server) -> None:
    """The address is the client's, whatever it says of itself, and the id is the same in both logs."""
    answer = http.get("/readyz", headers={"X-Forwarded-For": "203.0.113.9", "X-Request-Id": "forged"})
    assert answer.status_code == 200
    assert answer.headers["strict-transport-security"].startswith("max-age=")
    name = answer.headers["x-request-id"]
    assert re.fullmatch("[0-9a-f]{32}", name)  # nginx has given it
    give_up = time.monotonic() + 60.0
    while f"request={name} " not in server.log.read_text():  # which is written after the answer
        assert time.monotonic() < give_up
        time.sleep(0.02)
    (line,) = [line for line in server.log.read_text().splitlines() if f"request={name} " in line]
    assert "address=127.0.0.2" in line
    assert "203.0.113.9" not in server.log.read_text()


def _limits_bodies_and_headers(http: httpx.Client) -> None:
    assert http.post("/v1/plan", content=b" " * 3_000_000).status_code == 413
    assert http.get("/healthz", headers={"X-Long": "a" * 40_000}).status_code == 400
    assert http.get("/healthz", headers={"X-Long": "a" * 7_000}).status_code == 200


def _serves_experiments(http: httpx.Client, server: Server) -> None:
    with Client(str(http.base_url), server.key, transport=http._transport) as client:
        experiment = client.create("test", ["a", "b"], 0.05, family="bernoulli")
        for _ in range(30):
            (ticket,) = client.ask(experiment)
            assert client.tell(experiment, {ticket.ticket: 1.0}).counted == 1


def _streams_at_once(proxy: Proxy, server: Server, key: dict[str, str]) -> None:
    experiment = server.create()
    with proxy.client(headers=key) as http, http.stream("GET", f"/v1/experiments/{experiment}/stream") as stream:
        lines = stream.iter_lines()
        assert next(line for line in lines if line.startswith("event: ")) == "event: status"
        server.call("POST", f"/v1/experiments/{experiment}/ask", {"n": 3})
        assert '"trials":3,' in next(line for line in lines if '"trials":3,' in line)  # else this times out


def _signs_in_with_a_secure_cookie(proxy: Proxy, server: Server) -> None:
    with proxy.client() as http:
        signed_in = http.post("/sign-in", data={"key": server.key})
        assert signed_in.status_code == 303
        assert "secure" in signed_in.headers["set-cookie"].lower()
        statuses = [http.post("/sign-in", data={"key": "fb_0_0"}).status_code for _ in range(20)]
        assert statuses[0] == 303
        assert statuses[-1] == 429
