"""A Hugging Face hub on this machine, for tests: the API and the small files on one port, large files on another, as a CDN
has them. Every request is kept, and faults can be switched on. Run as a program it serves a folder for looking at by hand:
fake_hub.py org/name FOLDER

It speaks what huggingface_hub speaks, which hub_test.py checks with that package where it is installed."""
import hashlib
import http.server
import json
import pathlib
import re
import socket
import sys
import threading
import time
import urllib.parse

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LARGE = 100_000  # bytes from which a file is "LFS"


def git_sha1(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def is_large(path, content):
    return len(content) >= LARGE or path.endswith((".safetensors", ".gguf"))


def digest(path, content):
    return hashlib.sha256(content).hexdigest() if is_large(path, content) else git_sha1(content)


class Request:
    """What a client asked for."""

    def __init__(self, server, handler):
        self.server, self.method = server, handler.command
        self.path = urllib.parse.unquote(handler.path.partition("?")[0])
        self.token = handler.headers.get("Authorization")
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", handler.headers.get("Range", ""))
        self.first = int(match[1]) if match else None
        self.last = int(match[2]) if match and match[2] else None


class FakeHub:
    """repositories: {"org/name": {"path": bytes}}. A fault is a function fault(request, handler) -> True when it has answered;
    `deliver` is how bodies are sent, which faults may replace."""

    def __init__(self, repositories, token=None):
        self.repositories, self.token = repositories, token
        self.commit = COMMIT
        self.requests, self.faults = [], []
        self.lock = threading.Lock()
        self.ignore_ranges = False
        self.listed_size = {}  # path -> a size that is not true
        self.corrupt = {}  # path -> how often its end is still sent damaged
        self.cut_after = None  # bytes of a body, after which every connection breaks
        self.delay = None  # (bytes, seconds): a pause after every so many
        self.servers = [self._serve(self._hub), self._serve(self._cdn)]
        self.url, self.cdn_url = (f"http://127.0.0.1:{s.server_address[1]}" for s in self.servers)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.shutdown()
            server.server_close()

    def _serve(self, answer):
        hub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                request = Request("hub" if answer == hub._hub else "cdn", self)
                with hub.lock:
                    hub.requests.append(request)
                    faults = list(hub.faults)
                try:
                    if not any(fault(request, self) for fault in faults):
                        answer(request, self)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            do_HEAD = do_GET

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

            def handle_error(self, *_):
                pass

        server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        return server

    # --- answers ---

    def _hub(self, request, handler):
        if self.token and request.token != f"Bearer {self.token}":
            return send(handler, 401, headers={"X-Error-Message": "Invalid username or password."})
        if match := re.fullmatch(r"/api/models/([^/]+/[^/]+)(?:/revision/([^/]+))?", request.path):
            return self._model(handler, match[1], match[2] or "main")
        if match := re.fullmatch(r"/api/models/([^/]+/[^/]+)/tree/([^/]+)", request.path):
            return self._tree(handler, match[1])
        if match := re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", request.path):
            return self._resolve(request, handler, match[1], match[3])
        send(handler, 404)

    def _known(self, handler, repository, revision="main"):
        if repository in self.repositories and revision in ("main", "v1", self.commit):
            return self.repositories[repository]
        code = "RevisionNotFound" if repository in self.repositories else "RepoNotFound"
        send(handler, 404, headers={"X-Error-Code": code, "X-Error-Message": "not here"})
        return None

    def _size(self, path, content):
        return self.listed_size.get(path, len(content))

    def _model(self, handler, repository, revision):
        if (files := self._known(handler, repository, revision)) is None:
            return
        siblings = []
        for path, content in files.items():
            row = {"rfilename": path, "size": self._size(path, content), "blobId": git_sha1(content)}
            if is_large(path, content):
                row["lfs"] = {"sha256": digest(path, content), "size": row["size"], "pointerSize": 134}
            siblings.append(row)
        send(handler, 200, json.dumps({"id": repository, "modelId": repository, "sha": self.commit, "private": False, "tags": [],
                                       "downloads": 0, "likes": 0, "siblings": siblings}).encode(),
             {"Content-Type": "application/json", "X-Repo-Commit": self.commit})

    def _tree(self, handler, repository):
        if (files := self._known(handler, repository)) is None:
            return
        rows = []
        for path, content in files.items():
            row = {"type": "file", "oid": git_sha1(content), "size": len(content), "path": path}
            if is_large(path, content):
                row["lfs"] = {"oid": digest(path, content), "size": len(content), "pointerSize": 134}
            rows.append(row)
        send(handler, 200, json.dumps(rows).encode(), {"Content-Type": "application/json"})

    def _resolve(self, request, handler, repository, path):
        if (files := self._known(handler, repository)) is None:
            return
        if path not in files:
            return send(handler, 404, headers={"X-Error-Code": "EntryNotFound", "X-Error-Message": "Entry not found"})
        content = files[path]
        headers = {"X-Repo-Commit": self.commit, "Accept-Ranges": "bytes"}
        if is_large(path, content):
            return send(handler, 302, headers=headers | {
                "Location": f"{self.cdn_url}/{repository}/{path}?signature=x", "X-Linked-Size": str(len(content)),
                "X-Linked-Etag": f'"{digest(path, content)}"', "ETag": '"of-the-pointer"'})
        self._send_range(request, handler, path, content, headers | {"ETag": f'"{git_sha1(content)}"'})

    def _cdn(self, request, handler):
        owner, name, path = request.path[1:].split("/", 2)
        self._send_range(request, handler, path, self.repositories[f"{owner}/{name}"][path], {"Accept-Ranges": "bytes"})

    def _send_range(self, request, handler, path, content, headers):
        with self.lock:
            to_the_end = request.last is None or request.last >= len(content) - 1
            if request.method == "GET" and to_the_end and self.corrupt.get(path, 0) > 0:
                self.corrupt[path] -= 1
                content = content[:-1] + bytes([content[-1] ^ 1])
        if request.first is None or self.ignore_ranges:
            return self._send(handler, 200, content, headers)
        last = len(content) - 1 if request.last is None else min(request.last, len(content) - 1)
        if request.first > last:
            return send(handler, 416)
        self._send(handler, 206, content[request.first:last + 1],
                   headers | {"Content-Range": f"bytes {request.first}-{last}/{len(content)}"})

    def _send(self, handler, status, body, headers):
        cut = self.cut_after is not None and len(body) > self.cut_after
        send_head(handler, status, len(body), headers)
        if handler.command == "HEAD":
            return
        body = memoryview(body)[:self.cut_after] if cut else memoryview(body)
        step = self.delay[0] if self.delay else 1 << 20
        for at in range(0, len(body), step):
            handler.wfile.write(body[at:at + step])
            if self.delay:
                handler.wfile.flush()
                time.sleep(self.delay[1])
        if cut:
            handler.wfile.flush()
            handler.connection.shutdown(socket.SHUT_RDWR)
            handler.close_connection = True

    # --- what was asked ---

    def asked(self, server=None, suffix=""):
        with self.lock:
            return [r for r in self.requests if server in (None, r.server) and r.path.endswith(suffix)]


def send_head(handler, status, length, headers):
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(length))
    handler.end_headers()


def send(handler, status, body=b"", headers=None):
    send_head(handler, status, len(body), headers or {})
    if handler.command != "HEAD":
        handler.wfile.write(body)


def few_times(times, matches, status, headers=None):
    """A fault that answers the first `times` requests that match with a status."""
    left = [times]
    lock = threading.Lock()

    def fault(request, handler):
        with lock:
            if left[0] <= 0 or not matches(request):
                return False
            left[0] -= 1
        send(handler, status, headers=headers)
        return True
    return fault


def folder_files(folder):
    folder = pathlib.Path(folder)
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


if __name__ == "__main__":
    with FakeHub({sys.argv[1]: folder_files(sys.argv[2])}) as served:
        print(f"HF_ENDPOINT={served.url}", flush=True)
        threading.Event().wait()
