"""The page by itself, for a service that runs elsewhere.

    python -m app --api http://127.0.0.1:3000

Not here: the page as the service itself shows it, at /demo (serve/demo.py).
"""

import argparse

import uvicorn

from app.page import create_app


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m app", description=__doc__.split("\n")[0])
    parser.add_argument("--api", required=True, help="the service, like http://127.0.0.1:3000")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=7860, help="port to listen on")
    options = parser.parse_args()
    print(f"The page is at http://{options.host}:{options.port}/demo")
    uvicorn.run(
        create_app(options.api, public_url=options.api),
        host=options.host,
        port=options.port,
        log_level="warning",
    )


if __name__ == "__main__":
    main()
