"""An HTTP server in a thread that speaks both OpenAI APIs and misbehaves as told."""

import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server:
    """Answers requests with what `replies` yields: (status, body, headers), a number of seconds to trickle, None to
    hang up, or a function of the request that says which. Afterwards it echoes the last message. `seen` holds the
    requests."""

    def __init__(self, *replies, chat_only=False):
        self.replies, self.seen, self.chat_only, self.keys = list(replies), [], chat_only, []
        self.open_now, self.most_open, self.pause, self.lock = 0, 0, 0.0, threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                outer.answer(self)

        class Quiet(ThreadingHTTPServer):
            daemon_threads, request_queue_size = True, 128

            def handle_error(self, *_):
                pass  # a client that gave up is part of the tests

        self.server = Quiet(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, request):
        body = json.loads(request.rfile.read(int(request.headers["content-length"])))
        with self.lock:
            self.seen.append((request.path, body, time.monotonic()))
            self.keys.append(request.headers.get("authorization") or request.headers.get("api-key"))
            self.open_now += 1
            self.most_open = max(self.most_open, self.open_now)
            chat = request.path.split("?")[0].endswith("/chat/completions")
            plan = self.replies.pop(0) if self.replies and (chat or not self.chat_only) else "echo"
        plan = plan(body) if callable(plan) else plan
        time.sleep(self.pause)
        if self.chat_only and not chat:
            plan = (404, {"detail": "Not Found"})
        try:
            if plan is None:
                return request.connection.shutdown(socket.SHUT_RDWR)
            if isinstance(plan, (int, float)):  # one byte now and then: no gap is long, the whole is
                request.send_response(200)
                request.send_header("content-length", "1000")
                request.end_headers()
                for _ in range(int(plan * 20)):
                    request.wfile.write(b" ")
                    request.wfile.flush()
                    time.sleep(0.05)
                return None
            if plan == "echo":
                said = body["messages"] if chat else body["input"]
                text = said[-1].get("content") or said[-1].get("output")
                plan = (200, completion(text) if chat else response(text))
            status, content, *headers = plan
            raw = content.encode() if isinstance(content, str) else json.dumps(content).encode()
            request.send_response(status)
            for name, value in (headers[0] if headers else {}).items():
                request.send_header(name, value)
            request.send_header("content-type", "application/json")
            request.send_header("content-length", str(len(raw)))
            request.end_headers()
            request.wfile.write(raw)
        finally:
            with self.lock:
                self.open_now -= 1


def response(text, **more):
    said = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [
        {"type": "output_text", "text": text, "annotations": []}]}  # fmt: skip
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    return {"id": "r", "object": "response", "status": "completed", "output": [said], "usage": usage} | more


def completion(text, **more):
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text} | more}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    return {"id": "c", "object": "chat.completion", "choices": [choice], "usage": usage}
