"""A proxy between a server and PostgreSQL: ``python -m tests.faults.proxy <port> <socket>``.

It is a process of its own, so that it can be frozen as a network can. It reads commands: ``slow <seconds>`` delays
every piece of data by so much, ``fast`` ends that, and ``cut`` closes all connections.
"""

import asyncio
import subprocess
import sys
from pathlib import Path

PIECE = 65_536  # bytes


class Proxy:
    """The proxy itself.

    Args:
        target: The socket of PostgreSQL.
    """

    def __init__(self, target: str) -> None:
        self._target = target
        self._delay = 0.0
        self._open: set[asyncio.StreamWriter] = set()

    async def serve(self, port: int) -> None:
        """Pass data on until there are no more commands."""
        server = await asyncio.start_server(self._accept, "127.0.0.1", port)
        print("ready", flush=True)
        commands = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
        while line := await commands.readline():
            match line.decode().split():
                case ["slow", seconds]:
                    self._delay = float(seconds)
                case ["fast"]:
                    self._delay = 0.0
                case ["cut"]:
                    for writer in list(self._open):
                        writer.transport.abort()
        server.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_unix_connection(self._target)
        except OSError:
            writer.transport.abort()
            return
        await asyncio.gather(self._pass_on(reader, back), self._pass_on(there, writer))

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            while data := await reader.read(PIECE):
                if self._delay:
                    await asyncio.sleep(self._delay)
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            self._open.discard(writer)
            writer.close()


class Running:
    """The proxy, seen from a test."""

    def __init__(self, port: int, target: Path) -> None:
        self._port, self._target = port, target
        self.start()

    def start(self) -> None:
        """Start it, on the same port as before."""
        command = [sys.executable, "-m", "tests.faults.proxy", str(self._port), str(self._target)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, cwd=Path(__file__).parents[2]
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    @property
    def process(self) -> int:
        """The id of its process."""
        return self._process.pid

    def say(self, command: str) -> None:
        """Send a command."""
        assert self._process.stdin is not None
        self._process.stdin.write(command + "\n")

    def kill(self) -> None:
        """End it, and all connections with it."""
        self._process.kill()
        self._process.communicate()


if __name__ == "__main__":
    asyncio.run(Proxy(sys.argv[2]).serve(int(sys.argv[1])))
