"""``vendors``, ``models`` and ``probe``: which brands there are, what one offers, and whether it answers."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.shells.cli.conftest import Cli

KEY = "sk-a-very-secret-key"
ANSWER = [
    {"id": "r", "choices": [{"index": 0, "delta": {"content": "yes"}}]},
    {"id": "r", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    {"id": "r", "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}},
]


class Brand(ThreadingHTTPServer):
    """A brand on this machine: ``pages`` by path, and how ``/chat/completions`` answers."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.pages: dict[str, Any] = {}
        self.chat_status = 200
        self.asked: list[tuple[str, str | None]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Brand

    def do_GET(self) -> None:
        self._remember()
        page = self.server.pages.get(self.path.partition("?")[0])
        self._send(200 if page is not None else 404, json.dumps(page or {}).encode(), "application/json")

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._remember()
        if "/chat/completions" not in self.path:
            self._send(500, b"", "text/plain")
            return
        events = "".join(f"data: {json.dumps(event)}\n\n" for event in ANSWER) + "data: [DONE]\n\n"
        self._send(self.server.chat_status, events.encode(), "text/event-stream")

    def _remember(self) -> None:
        self.server.asked.append((self.path, self.headers.get("Authorization")))

    def _send(self, status: int, body: bytes, media: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", media)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def brand() -> Iterator[Brand]:
    server = Brand()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


# Vendors.


def test_vendors_are_listed_in_their_order(bare: Cli) -> None:
    result = bare("vendors")
    lines = result.out.splitlines()
    assert result.code == 0
    assert lines[0].split() == ["BRAND", "KEY", "PROTOCOLS", "ADDRESS"]
    assert [line.split()[0] for line in lines[1:4]] == ["openai", "anthropic", "google"]
    assert lines[-1].startswith("openai_compatible  optional")
    assert len(lines) == 16


def test_vendors_are_data_as_well(bare: Cli) -> None:
    listed = json.loads(bare("vendors", "--json").out)
    assert [vendor["brand"] for vendor in listed][:2] == ["openai", "anthropic"]
    assert listed[1]["structured"] == "forced_tool"


# Models.


def test_models_of_a_brand_are_listed(bare: Cli, brand: Brand) -> None:
    brand.pages["/v1/models"] = {"data": [{"id": "big", "context_length": 1000}, {"id": "small\x1b[31m"}]}
    result = bare("models", "openai", "--base-url", f"{brand.url}/v1", "--api-key", KEY)
    assert (result.code, result.err) == (0, "")
    assert [line.split() for line in result.out.splitlines()] == [
        ["MODEL", "TYPE", "INPUTS", "WINDOW", "OUTPUT", "NAME"],
        ["big", "chat", "text", "1000", "-"],
        ["small[31m", "chat", "text", "-", "-"],
    ]
    assert brand.asked == [("/v1/models", f"Bearer {KEY}")]


def test_models_are_data_as_well(bare: Cli, brand: Brand) -> None:
    brand.pages["/models"] = {"data": [{"id": "big"}]}
    listed = json.loads(bare("models", "openai", "--base-url", brand.url, "--api-key", KEY, "--json").out)
    assert listed == [
        {"id": "big", "name": "big", "type": "chat", "inputs": [], "context_window": 0, "max_output_tokens": 0}
    ]


def test_what_could_not_be_found_out_is_said_beside_the_list(bare: Cli, brand: Brand) -> None:
    brand.pages["/api/tags"] = {"models": [{"model": "llava"}]}
    result = bare("models", "ollama", "--base-url", brand.url)
    assert result.code == 0
    assert "llava" in result.out
    assert result.err.startswith("turnfold: llava: no details (ollama: ")


def test_no_models_are_said(bare: Cli, brand: Brand) -> None:
    brand.pages["/models"] = {"data": []}
    result = bare("models", "openai_compatible", "--base-url", brand.url)
    assert (result.code, result.out) == (0, "openai_compatible offers no models to this key\n")


def test_a_list_that_everybody_may_see_needs_no_key(bare: Cli, brand: Brand) -> None:
    brand.pages["/models"] = {"data": []}
    assert bare("models", "openrouter", "--base-url", brand.url).code == 0
    assert brand.asked[0][1] is None


# Probe.


def test_a_model_may_stand_after_the_flags(bare: Cli, brand: Brand) -> None:
    brand.pages["/models"] = {"data": []}
    result = bare("probe", "openai", "--base-url", brand.url, "--api-key", KEY, "gpt")
    assert (result.code, result.err) == (0, "")
    assert "\ngpt answers (" in result.out


def test_a_probe_asks_for_the_list_and_the_model_for_a_word(bare: Cli, brand: Brand) -> None:
    brand.pages["/models"] = {"data": []}
    result = bare("probe", "openai", "gpt", "--base-url", brand.url, "--api-key", KEY)
    assert (result.code, result.err) == (0, "")
    reached, answered = result.out.splitlines()
    host = brand.url.removeprefix("http://")
    assert reached.startswith(f"openai answers at {host} and accepts the key (")
    assert answered.startswith("gpt answers (")
    assert answered.endswith("10 tokens (input 9, output 1))")
    assert [path for path, _ in brand.asked] == ["/models", "/chat/completions"]


def test_without_a_model_none_is_asked(bare: Cli, brand: Brand) -> None:
    brand.pages["/models"] = {"data": []}
    result = bare("probe", "openai_compatible", "--base-url", brand.url)
    assert result.code == 0
    assert "accepts" not in result.out
    assert [path for path, _ in brand.asked] == ["/models"]


def test_a_model_that_does_not_answer_is_told_apart(bare: Cli, brand: Brand) -> None:
    brand.pages["/models"], brand.chat_status = {"data": []}, 404
    result = bare("probe", "openai", "gpt", "--base-url", brand.url, "--api-key", KEY)
    assert result.code == 1
    assert result.out.startswith("openai answers at")
    assert "does not know the model gpt" in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize("command", ["probe", "models"])
def test_a_failure_is_one_line_without_the_key(bare: Cli, brand: Brand, command: str) -> None:
    result = bare(command, "openai", "--base-url", f"{brand.url}/nowhere", "--api-key", KEY)
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("turnfold: openai: 127.0.0.1")
    assert result.err.count("\n") == 1
    assert KEY not in result.err


# Where, and with which key.


def test_the_environment_says_where_and_with_which_key(
    bare: Cli, brand: Brand, monkeypatch: pytest.MonkeyPatch
) -> None:
    brand.pages["/models"] = {"data": []}
    monkeypatch.setenv("TURNFOLD_BASE_URL", brand.url)
    monkeypatch.setenv("TURNFOLD_API_KEY", KEY)
    for meant in ("", "openai"):
        monkeypatch.setenv("TURNFOLD_BRAND", meant)
        assert bare("probe", "openai").code == 0
    assert brand.asked == [("/models", f"Bearer {KEY}")] * 2


def test_a_key_for_one_brand_is_not_sent_to_another(bare: Cli, brand: Brand, monkeypatch: pytest.MonkeyPatch) -> None:
    brand.pages["/models"] = {"data": []}
    monkeypatch.setenv("TURNFOLD_BRAND", "anthropic")
    monkeypatch.setenv("TURNFOLD_BASE_URL", "https://anthropic.example.com")
    monkeypatch.setenv("TURNFOLD_API_KEY", KEY)
    assert bare("probe", "openai_compatible", "--base-url", brand.url).code == 0
    assert brand.asked == [("/models", None)]
    result = bare("probe", "openai")
    assert (result.code, "openai needs an API key" in result.err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("probe", "acme"), "unknown brand 'acme'"),
        (("models", "acme"), "unknown brand 'acme'"),
        (("models", "typesafe", "--api-key", KEY), "typesafe has no address of its own; say --base-url"),
        (("probe", "openai"), "openai needs an API key"),
        (("probe", "openai", "--api-key", KEY, "--base-url", "http://example.com"), "would travel unencrypted"),
        (("probe", "openai", "--api-key", KEY, "--base-url", "nowhere"), "base URL is malformed"),
        (("probe",), "the following arguments are required: BRAND"),
    ],
)
def test_wrong_settings_are_one_line(bare: Cli, arguments: tuple[str, ...], line: str) -> None:
    result = bare(*arguments)
    assert (result.code, result.out) == (2, "")
    assert line in result.err
    assert result.err.count("\n") == 1
    assert KEY not in result.err
