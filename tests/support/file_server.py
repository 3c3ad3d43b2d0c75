"""A small HTTP server on this host that has some files, and tarballs for it."""

import contextlib
import io
import tarfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class FileServer:
    """What it has by path, where it is, and the paths that it was asked for."""

    files: Mapping[str, bytes]
    address: str = ""
    asked: list[str] = field(default_factory=list)


@contextlib.contextmanager
def serving(files: Mapping[str, bytes]) -> Iterator[FileServer]:
    """It answers as long as this lasts."""
    known = FileServer(files)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known.asked.append(self.path)
            content = known.files.get(self.path)
            self.send_response(404 if content is None else 200)
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, *_: object) -> None:
            """Tests are quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        known.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield known
        finally:
            server.shutdown()
            thread.join()


def tarball(files: Mapping[str, str], links: Mapping[str, str] | None = None) -> bytes:
    """A tar.gz of some files, and of symbolic links."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
        for name, target in (links or {}).items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            archive.addfile(member)
    return made.getvalue()
