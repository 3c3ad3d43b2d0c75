"""A local server that behaves like GitHub's and Jira's API as far as attaching goes, and fails when told to."""

import socket
import threading
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from flask import Flask, Response, abort, jsonify, request
from flask.typing import ResponseReturnValue
from werkzeug.serving import make_server

TOKEN = "s3cret-t0ken"
USER = "ada@example.org"
PATIENT = 60.0
RAW_LOCATION = "X-Raw-Location"


@dataclass
class StandIn:
    """`comments` and `attachments` are what it keeps; a page holds at most `most` of them.

    `faults` are what happens to the next requests of a method, in turn: a status, nothing being stored; "refuse" to do
    it with 500; an address, with a slash in it, to redirect to with `status`; or, after it was done, "fail" with 500,
    "lose" the connection, answer with "garbage", or "wait" for `go` once `stored` is set. "" is no fault.
    """

    base: str = ""
    comments: list[dict[str, Any]] = field(default_factory=list)
    attachments: list[dict[str, Any]] = field(default_factory=list)
    seen: list[tuple[str, str, str | None]] = field(default_factory=list)
    faults: dict[str, list[int | str]] = field(default_factory=dict)
    most: int = 100
    status: int = 307
    stored: threading.Event = field(default_factory=threading.Event)
    go: threading.Event = field(default_factory=threading.Event)

    def posts(self) -> int:
        """How many requests posted something."""
        return sum(method == "POST" for method, _, _ in self.seen)


def _raw_location(app: Flask) -> Callable[..., Iterable[bytes]]:
    """Werkzeug refuses to send a Location that is no address; a hostile server does not."""

    def wrapped(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        def renamed(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            names = {RAW_LOCATION: "Location"}
            return start(status, [(names.get(name, name), value) for name, value in headers], *more)

        return app(environ, renamed)

    return wrapped


def _app(server: StandIn) -> Flask:
    app = Flask("stand-in")

    @app.before_request
    def check() -> ResponseReturnValue | None:
        authorization = request.headers.get("Authorization")
        server.seen.append((request.method, request.full_path.rstrip("?"), authorization))
        faults = server.faults.get(request.method, [])
        request.environ["fault"] = fault = faults.pop(0) if faults else None
        if isinstance(fault, int):
            return jsonify(message=f"no, {authorization}", errorMessages=[]), fault
        if fault == "refuse":
            return jsonify(message="out of order"), 500
        if isinstance(fault, str) and "/" in fault:
            return Response(status=server.status, headers={RAW_LOCATION: fault})
        basic = b64encode(f"{USER}:{TOKEN}".encode()).decode()
        if authorization not in (f"Bearer {TOKEN}", f"Basic {basic}"):
            return jsonify(message="Bad credentials"), 401
        return None

    @app.after_request
    def spoil(response: Response) -> Response:
        match request.environ["fault"]:
            case "lose":
                request.environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
            case "garbage":
                response.data = b"<html>\x1b[31mWelcome"
            case "wait":
                server.stored.set()
                server.go.wait(PATIENT)
            case "fail":
                response.status_code = 500
        return response

    @app.get("/repos/<owner>/<repo>/issues/<int:number>/comments")
    def github_list(owner: str, repo: str, number: int) -> ResponseReturnValue:
        size, page = min(int(request.args["per_page"]), server.most), int(request.args["page"])
        answer = jsonify(server.comments[size * (page - 1) : size * page])
        if size * page < len(server.comments):
            answer.headers["Link"] = f'<{server.base}{request.path}?page={page + 1}>; rel="next"'
        return answer

    @app.post("/repos/<owner>/<repo>/issues/<int:number>/comments")
    def github_comment(owner: str, repo: str, number: int) -> ResponseReturnValue:
        body = request.get_json()["body"]
        if len(body) > 65536:
            return jsonify(message="Validation Failed", errors=[{"message": "body is too long"}]), 422
        address = f"https://example.org/{owner}/{repo}/issues/{number}#issuecomment-{len(server.comments)}"
        server.comments.append({"body": body, "html_url": address})
        return jsonify(server.comments[-1]), 201

    @app.get("/rest/api/2/issue/<key>/comment")
    def jira_list(key: str) -> ResponseReturnValue:
        start, size = int(request.args["startAt"]), min(int(request.args["maxResults"]), server.most)
        return jsonify(comments=server.comments[start : start + size], total=len(server.comments), startAt=start)

    @app.post("/rest/api/2/issue/<key>/comment")
    def jira_comment(key: str) -> ResponseReturnValue:
        body = request.get_json()["body"]
        if len(body) > 32767:
            return jsonify(errorMessages=[], errors={"comment": "The entered text is too long."}), 400
        server.comments.append({"body": body, "id": str(len(server.comments))})
        return jsonify(server.comments[-1]), 201

    @app.get("/rest/api/2/issue/<key>")
    def jira_issue(key: str) -> ResponseReturnValue:
        return jsonify(
            key=key, fields={"attachment": [{k: a[k] for k in ("filename", "size")} for a in server.attachments]}
        )

    @app.post("/rest/api/2/issue/<key>/attachments")
    def jira_attach(key: str) -> ResponseReturnValue:
        if request.headers.get("X-Atlassian-Token") != "no-check":
            abort(403)
        sent = request.files["file"]
        content = sent.read()
        server.attachments.append({"filename": sent.filename, "size": len(content), "content": content})
        return jsonify([{"filename": sent.filename, "size": len(content)}])

    return app


@contextmanager
def standing_in() -> Iterator[StandIn]:
    """A running stand-in; whatever it still holds back is let go at the end."""
    server = StandIn()
    http = make_server("127.0.0.1", 0, _raw_location(_app(server)), threaded=True)
    server.base = f"http://127.0.0.1:{http.server_port}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.go.set()
        http.shutdown()
        thread.join()
        http.server_close()
