from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PRICES = {"/pear": "17", "/plum": "4", "/health": "ok"}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        found = PRICES.get(self.path)
        self.send_response(200 if found else 404)
        self.end_headers()
        self.wfile.write((found or "unknown").encode())
        if self.path != "/health":
            with open("/tmp/asked.log", "a") as log:
                log.write(f"{self.path}\n")


open("/tmp/asked.log", "w").close()
ThreadingHTTPServer(("", 8000), Handler).serve_forever()
