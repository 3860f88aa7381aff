"""The standard hook behind N.E.K.O's callback: an HTTP server on the loopback address.

It is the standard library's server, with connections kept and each reply written at
once; a framework on top of it would be slower.
"""

import json
from http.server import BaseHTTPRequestHandler, HTTPServer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one write a reply

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        arguments = body["arguments"]
        roles = ",".join([m["role"] for m in arguments["messages"]])
        names = ",".join([t["name"] for t in arguments["tools"]])
        reply = json.dumps({"output": "roles " + roles + "; tools " + names, "is_error": False}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *args):
        pass


server = HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
