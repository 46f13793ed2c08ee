"""``vendors``, ``models`` and ``probe``: which brands there are, what one offers, and whether it answers."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.shells.cli.conftest import Cli
from tests.shells.cli.dialects import DIALECTS, wire
from tests.shells.cli.terminal import Act, at_terminal, plain

KEY = "sk-a-very-secret-key"
ANSWER = [
    {"id": "r", "choices": [{"index": 0, "delta": {"content": "yes"}}]},
    {"id": "r", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    {"id": "r", "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}},
]
RESPONSES = DIALECTS["openai-responses"]


class Brand(ThreadingHTTPServer):
    """A brand on this machine: ``pages`` by path, and how ``/chat/completions`` answers."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.pages: dict[str, Any] = {}
        self.chat_status = 200
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.asked: list[tuple[str, str | None]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Brand

    def do_GET(self) -> None:
        self._remember()
        self.server.may_answer.wait(10)
        page = self.server.pages.get(self.path.partition("?")[0])
        self._send(200 if page is not None else 404, json.dumps(page or {}).encode(), "application/json")

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._remember()
        if self.path.endswith(RESPONSES.path):
            self._send(200, b"".join(map(wire, RESPONSES.says())), "text/event-stream")
            return
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


@pytest.fixture
def keyed(bare: Cli) -> Cli:
    """A command line with a key in its environment."""
    bare.monkeypatch.setenv("TURNFOLD_API_KEY", KEY)
    return bare


# Vendors.


def test_vendors_are_listed_in_their_order_with_each_of_their_protocols(bare: Cli) -> None:
    result = bare("vendors")
    lines = [line.split(maxsplit=2) for line in result.out.splitlines()]
    assert result.code == 0
    assert lines[:4] == [
        ["BRAND", "PROTOCOL", "ADDRESS"],
        ["openai", "openai-chat", "https://api.openai.com/v1"],
        ["openai", "openai-responses", "https://api.openai.com/v1"],
        ["anthropic", "anthropic-messages", "https://api.anthropic.com"],
    ]
    assert ["deepseek", "anthropic-messages", "https://api.deepseek.com/anthropic"] in lines
    assert ["typesafe", "openai-chat", "(say --base-url)"] in lines
    assert ["ollama", "openai-chat", "http://localhost:11434 (key optional)"] in lines
    assert lines[-1] == ["openai_compatible", "anthropic-messages", "(say --base-url; key optional)"]
    assert max(map(len, result.out.splitlines())) <= 80


def test_vendors_are_data_as_well(bare: Cli) -> None:
    listed = json.loads(bare("vendors", "--json").out)
    assert [vendor["brand"] for vendor in listed][:2] == ["openai", "anthropic"]
    assert listed[1]["structured"] == "forced_tool"


# Models.


def test_models_of_a_brand_are_listed(keyed: Cli, brand: Brand) -> None:
    brand.pages["/v1/models"] = {"data": [{"id": "big", "context_length": 1000}, {"id": "small\x1b[31m"}]}
    result = keyed("models", "openai", "--base-url", f"{brand.url}/v1")
    assert (result.code, result.err) == (0, "")
    assert [line.split() for line in result.out.splitlines()] == [
        ["MODEL", "TYPE", "INPUTS", "WINDOW", "OUTPUT", "NAME"],
        ["big", "chat", "text", "1000", "-"],
        ["small[31m", "chat", "text", "-", "-"],
    ]
    assert brand.asked == [("/v1/models", f"Bearer {KEY}")]


def test_models_are_data_as_well(keyed: Cli, brand: Brand) -> None:
    brand.pages["/models"] = {"data": [{"id": "big", "context_window": 7}]}
    listed = json.loads(keyed("models", "openai", "--base-url", brand.url, "--json").out)
    assert listed == [
        {"id": "big", "name": "big", "type": "chat", "inputs": None, "context_window": 7, "max_output_tokens": None}
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


def test_a_model_may_stand_after_the_flags(keyed: Cli, brand: Brand) -> None:
    brand.pages["/models"] = {"data": []}
    result = keyed("probe", "openai", "--base-url", brand.url, "gpt")
    assert (result.code, result.err) == (0, "")
    assert "\ngpt answers (" in result.out


def test_a_probe_asks_for_the_list_and_the_model_for_a_word(keyed: Cli, brand: Brand) -> None:
    brand.pages["/models"] = {"data": []}
    result = keyed("probe", "openai", "gpt", "--base-url", brand.url)
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


def test_a_model_that_does_not_answer_is_told_apart(keyed: Cli, brand: Brand) -> None:
    brand.pages["/models"], brand.chat_status = {"data": []}, 404
    result = keyed("probe", "openai", "gpt", "--base-url", brand.url)
    assert result.code == 1
    assert result.out.startswith("openai answers at")
    assert "does not know the model gpt" in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize("command", ["probe", "models"])
def test_a_failure_is_one_line_without_the_key(keyed: Cli, brand: Brand, command: str) -> None:
    result = keyed(command, "openai", "--base-url", f"{brand.url}/nowhere")
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("turnfold: openai: 127.0.0.1")
    assert result.err.count("\n") == 1
    assert KEY not in result.err


def test_a_model_is_asked_in_another_protocol_and_proves_the_key(keyed: Cli, brand: Brand) -> None:
    """Where a server lists its models in another protocol nobody knows, so it is not asked for."""
    host = brand.url.removeprefix("http://")
    keyed.monkeypatch.setenv("TURNFOLD_PROTOCOL", "openai-responses")
    result = keyed("probe", "openai", "gpt", "--base-url", f"{brand.url}/v1")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith(f"gpt answers at {host} by openai-responses (")
    assert brand.asked == [("/v1/responses", f"Bearer {KEY}")]
    keyed.monkeypatch.setenv("TURNFOLD_PROTOCOL", "nonsense")
    result = keyed("probe", "openai", "gpt", "--base-url", brand.url)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("turnfold: openai does not speak 'nonsense', only openai-chat, openai-responses; ")


@pytest.mark.parametrize("command", ["probe", "models"])
def test_a_terminal_shows_whom_it_waits_for(bare: Cli, brand: Brand, command: str) -> None:
    host = brand.url.removeprefix("http://")
    brand.pages["/models"] = {"data": [{"id": "big"}]}
    brand.may_answer.clear()
    script: list[tuple[str, Act]] = [
        (f"asking {host} …", brand.may_answer.set),
        ("big" if command == "models" else "answers at", None),
    ]
    code, seen = at_terminal(bare.monkeypatch, [command, "openai_compatible", "--base-url", brand.url], script)
    assert code == 0
    assert "asking" not in plain(seen)


# Where, and with which key.


@pytest.mark.parametrize("command", ["probe", "models"])
def test_without_a_brand_the_environment_is_asked_for(keyed: Cli, brand: Brand, command: str) -> None:
    brand.pages["/models"] = {"data": []}
    for name, value in (("BRAND", "openai"), ("MODEL", "gpt"), ("BASE_URL", brand.url)):
        keyed.monkeypatch.setenv(f"TURNFOLD_{name}", value)
    assert keyed(command).code == 0
    assert [path for path, _ in brand.asked] == ["/models", "/chat/completions"][: 2 if command == "probe" else 1]
    brand.asked.clear()
    assert keyed(command, "openai").code == 0
    assert [path for path, _ in brand.asked] == ["/models"]


@pytest.mark.parametrize("command", ["probe", "models"])
def test_a_key_on_the_command_line_is_warned_of(bare: Cli, brand: Brand, command: str) -> None:
    brand.pages["/models"] = {"data": []}
    result = bare(command, "openai", "--base-url", brand.url, "--api-key", KEY)
    assert (result.code, brand.asked) == (0, [("/models", f"Bearer {KEY}")])
    assert result.err == (
        "turnfold: anybody on this machine can see a key on the command line; set TURNFOLD_API_KEY instead\n"
    )


def test_a_key_may_travel_unencrypted_where_one_says_so(keyed: Cli, brand: Brand) -> None:
    """This address is no name of this machine, and reaches it all the same."""
    brand.pages["/models"] = {"data": []}
    url = brand.url.replace("127.0.0.1", "0.0.0.0")
    for command in (("models", "openai"), ("probe", "openai", "gpt")):
        assert keyed(*command, "--base-url", url).code == 2
        assert brand.asked == []
        assert keyed(*command, "--base-url", url, "--allow-http").code == 0
        assert {key for _, key in brand.asked} == {f"Bearer {KEY}"}
        brand.asked.clear()


def test_a_model_for_one_brand_is_not_asked_of_another(bare: Cli) -> None:
    for name, value in (("BRAND", "openai"), ("MODEL", "gpt"), ("PROTOCOL", "openai-responses")):
        bare.monkeypatch.setenv(f"TURNFOLD_{name}", value)
    result = bare("chat", "--brand", "ollama")
    assert (result.code, result.out) == (2, "")
    assert result.err == (
        "turnfold: no model was named; TURNFOLD_MODEL belongs to openai (TURNFOLD_BRAND); say --model\n"
    )


def test_a_key_that_cannot_be_one_is_said_in_words_of_the_command_line(bare: Cli) -> None:
    bare.monkeypatch.setenv("TURNFOLD_API_KEY", "sk-\u00e9")
    for command in (("models", "openai"), ("chat", "--brand", "openai", "--model", "m")):
        result = bare(*command)
        assert (result.code, result.out) == (2, "")
        assert result.err == (
            "turnfold: the API key has characters that no key has; check TURNFOLD_API_KEY, or --api-key\n"
        )


def test_an_address_for_one_brand_is_not_used_for_another_and_that_is_said(bare: Cli, brand: Brand) -> None:
    brand.pages["/models"] = {"data": []}
    bare.monkeypatch.setenv("TURNFOLD_BRAND", "anthropic")
    bare.monkeypatch.setenv("TURNFOLD_BASE_URL", brand.url)
    for command in (("probe", "typesafe"), ("models", "typesafe"), ("chat", "--brand", "typesafe", "--model", "m")):
        result = bare(*command, "--api-key", KEY)
        assert (result.code, result.out) == (2, "")
        assert result.err.splitlines()[1] == (
            "turnfold: TURNFOLD_BASE_URL belongs to anthropic (TURNFOLD_BRAND), so it is not used for typesafe; "
            "say --base-url if it is meant"
        )
    assert brand.asked == []


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
    result = bare("probe", "openai_compatible", "--base-url", brand.url)
    assert (result.code, result.err) == (0, "")
    assert brand.asked == [("/models", None)]
    needed = "openai needs an API key: TURNFOLD_API_KEY belongs to anthropic (TURNFOLD_BRAND); say --api-key\n"
    for command in (("models", "openai"), ("probe", "openai"), ("chat", "--brand", "openai", "--model", "m")):
        result = bare(*command)
        assert result.code == 2
        assert result.err.endswith(f"turnfold: {needed}")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("probe", "acme"), "unknown brand 'acme'"),
        (("models", "acme"), "unknown brand 'acme'"),
        (("models", "typesafe"), "typesafe has no address of its own; say --base-url"),
        (
            ("probe", "openai", "--base-url", "http://example.com"),
            "the API key would travel unencrypted to example.com: use https, "
            "or say --allow-http if the network in between is yours",
        ),
        (("models", "ollama", "--base-url", "http://example.com?key=1"), "example.com: use https, or say --allow-http"),
        (("chat", "--brand", "openai", "--model", "m", "--base-url", "http://example.com"), "or say --allow-http if"),
        (("probe", "openai", "--base-url", "nowhere"), "base URL is malformed"),
        (("probe",), "no brand was named; say BRAND or set TURNFOLD_BRAND, to one of openai, anthropic, google, "),
        (("models", ""), "no brand was named; say BRAND or set TURNFOLD_BRAND, to one of openai, anthropic, google, "),
        (("probe", "openai", ""), "no model was named; say which, or leave it out to ask about the key alone"),
        (("probe", "openai", " "), "no model was named"),
        (("probe", "openai", "gpt", "--base-url", ""), "argument --base-url: it is empty, and has to be an address"),
        (("models", "openai", "--base-url", " "), "argument --base-url: it is empty"),
        (("chat", "--brand", "openai", "--model", "m", "--base-url", ""), "argument --base-url: it is empty"),
        (("probe", "openai", "gpt", "--protocol", "nonsense"), "openai does not speak 'nonsense', only openai-chat"),
        (
            ("probe", "openai", "--protocol", "openai-responses"),
            "only a model can show whether openai speaks openai-responses; name a MODEL as well",
        ),
    ],
)
def test_wrong_settings_are_one_line(keyed: Cli, arguments: tuple[str, ...], line: str) -> None:
    if "ollama" in arguments:
        keyed.monkeypatch.delenv("TURNFOLD_API_KEY")  # what may be a key is in the address
    result = keyed(*arguments)
    assert (result.code, result.out) == (2, "")
    assert line in result.err
    assert result.err.count("\n") == 1
    assert KEY not in result.err
