"""Wrong input, one case after another: one line that says what to do, a code of its own, and nothing half-written."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
import trio
from turnfold.adapters.stores import SqliteStore
from turnfold.adapters.stores.sqlite_schema import SCHEMA_VERSION

from tests.shells.cli.conftest import Cli
from tests.shells.cli.server import Reply, Server, Status

TOOLS = '''
def bare(x):
    """Has no annotation."""

def current_time() -> str:
    """Has the name of another one."""

nothing = 3
'''


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((), "no brand was named; say --brand or set TURNFOLD_BRAND, to one of openai, anthropic, google, "),
        (("--brand", "openai"), "no model was named; say --model or set TURNFOLD_MODEL"),
        (("--brand", "foo", "--model", "m"), "unknown brand 'foo'; known are openai, anthropic, google, "),
        (("--brand", "openai", "--model", "m"), "openai needs an API key: set TURNFOLD_API_KEY"),
        (("--brand", "openai_compatible", "--model", "m"), "openai_compatible needs a base URL, such as https://"),
        (
            ("--brand", "ollama", "--model", "m", "--base-url", "localhost:1"),
            "the base URL is malformed: it must look like https://example.com/v1",
        ),
        (
            ("--brand", "ollama", "--model", "m", "--conversation", "a/b"),
            "a conversation cannot be called 'a/b'; use up to 100 letters, digits, dots, hyphens and underscores",
        ),
        (
            ("--brand", "ollama", "--model", "m", "--tool", "here"),
            "--tool takes MODULE:NAME, such as mytools:search, and not 'here'; write it so",
        ),
        (
            ("--brand", "ollama", "--model", "m", "--tool", "nowhere:x"),
            "cannot load the tool 'nowhere:x' (ModuleNotFoundError: No module named 'nowhere'); "
            "name a function in a module that is here",
        ),
        (
            ("--brand", "ollama", "--model", "m", "--tool", "bad_tools:nothing"),
            "'bad_tools:nothing' is no function but a int; name a function, or a turnfold tool",
        ),
        (
            ("--brand", "ollama", "--model", "m", "--tool", "bad_tools:bare"),
            "the tool cannot be used: parameter 'x' of bare: it has no annotation; "
            "annotate it with a type that JSON can hold",
        ),
        (
            ("--brand", "ollama", "--model", "m", "--tool", "bad_tools:current_time"),
            "the tool cannot be used: current_time cannot be a tool: another one in the toolbox has that name; ",
        ),
    ],
)
def test_a_chat_that_cannot_be_set_up_makes_nothing(bare: Cli, arguments: tuple[str, ...], line: str) -> None:
    Path("bad_tools.py").write_text(TOOLS)
    result = bare.on_db("chat", *arguments, stdin="hello\n")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"turnfold: {line}")
    assert result.err.count("\n") == 1
    assert not bare.db.exists()


@pytest.mark.parametrize(
    ("page", "line"),
    [
        (
            Status(401, {"error": {"message": "Incorrect API key provided: sk-wrong-key"}}),
            "openai_compatible: the API key was not accepted (401): Incorrect API key provided: ***",
        ),
        (
            Status(404, {"error": {"message": "no such model"}}),
            "openai_compatible: {host} does not know the model fake-1; check the model's name and the base URL (404): "
            "no such model",
        ),
    ],
)
def test_a_refusal_of_the_provider_is_one_line(
    bare: Cli, serve: Callable[[Reply], Server], page: Status, line: str
) -> None:
    server = serve(lambda _: [page])
    bare.monkeypatch.setenv("TURNFOLD_API_KEY", "sk-wrong-key")
    result = bare.on_db("chat", stdin="hello\n")
    host = server.url.split("/")[2]
    kept = "; the message is kept, and turnfold chat --db DB answers it"
    assert (result.code, result.out) == (1, "")
    assert result.err == f"turnfold: {line.format(host=host)}{kept}\n"


def test_a_host_that_is_not_there_is_one_line(bare: Cli) -> None:
    result = bare.on_db(
        "chat", "--brand", "ollama", "--model", "m", "--base-url", "http://127.0.0.1:1", stdin="hello\n"
    )
    assert result.code == 1
    assert result.err == (
        "turnfold: ollama: 127.0.0.1:1 refused the connection; is the server running, and is the base URL right? "
        "The message is kept, and turnfold chat --db DB answers it\n"
    )


def not_sqlite(path: Path) -> None:
    path.write_text("dear diary, " * 100)


def somebody_elses(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE diary (day)")
    connection.close()


def from_the_future(path: Path) -> None:
    SqliteStore(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()


@pytest.mark.parametrize("command", [("chat",), ("runs",), ("show", "r"), ("resume", "r"), ("demo",)])
@pytest.mark.parametrize(
    ("make", "line"),
    [
        (not_sqlite, "{path} is not a SQLite database: give the path of another file"),
        (somebody_elses, "{path} is a database of another program: give the path of another file"),
        (
            from_the_future,
            "{path} was made by a newer turnfold (schema 99, this release knows up to "
            f"{SCHEMA_VERSION}): upgrade turnfold, or use another file",
        ),
    ],
)
def test_a_database_that_is_not_ours_is_left_as_it_is(
    cli: Cli, command: tuple[str, ...], make: Callable[[Path], None], line: str
) -> None:
    make(cli.db)
    before = cli.db.read_bytes()
    result = cli.on_db(*command, stdin="hello\n")
    assert (result.code, result.out) == (3, "")
    assert result.err == f"turnfold: {line.format(path=cli.db)}\n"
    assert cli.db.read_bytes() == before


@pytest.mark.parametrize("command", [("runs",), ("show", "r"), ("resume", "r")])
def test_a_command_that_looks_makes_no_database(cli: Cli, command: tuple[str, ...]) -> None:
    result = cli.on_db(*command)
    assert (result.code, result.out) == (3, "")
    assert result.err == (
        f"turnfold: there is no database {cli.db}; name one with --db, "
        "or make one with turnfold chat or turnfold demo --keep\n"
    )
    assert not cli.db.exists()


@pytest.mark.parametrize("command", ["chat", "demo"])
def test_a_place_that_cannot_be_written_is_one_line(cli: Cli, command: str) -> None:
    Path("file").touch()
    result = cli(command, "--db", "file/chat.db")
    assert (result.code, result.out) == (3, "")
    assert result.err == (
        "turnfold: cannot write file/chat.db (Not a directory); name a file in a folder of your own with --db\n"
    )


def test_a_data_folder_that_cannot_be_made_is_one_line(cli: Cli) -> None:
    Path("file").touch()
    cli.monkeypatch.setenv("XDG_DATA_HOME", str(Path("file").absolute()))
    result = cli("chat")
    assert result.code == 3
    assert result.err.startswith(f"turnfold: cannot write {Path('file').absolute()}/turnfold/turnfold.db (")


@pytest.mark.parametrize("command", ["show", "resume"])
def test_a_run_that_is_not_there_is_one_line(cli: Cli, command: str) -> None:
    cli.on_db("chat", stdin="hello\n")
    result = cli.on_db(command, "chat-other")
    assert (result.code, result.out) == (4, "")
    assert (
        result.err
        == "turnfold: there is no run 'chat-other' in this store; turnfold runs --db DB lists those there are\n"
    )


def test_a_run_of_another_program_cannot_be_resumed(cli: Cli) -> None:
    async def make() -> None:
        with SqliteStore(cli.db) as store:
            await store.create_run("job-1")

    trio.run(make)
    result = cli.on_db("resume", "job-1")
    assert (result.code, result.out) == (2, "")
    assert result.err == (
        "turnfold: the run 'job-1' was not made by turnfold chat or demo; "
        "resume it with the program that made it, which knows its tools\n"
    )


def spoil(cli: Cli, statement: str, value: bytes) -> None:
    cli.on_db("chat", stdin="hello\n")
    with sqlite3.connect(cli.db) as connection:
        connection.execute(statement, (value,))
    connection.close()


@pytest.mark.parametrize("value", [b'{"version":99}', b"garbage"])
def test_nothing_is_added_to_a_conversation_whose_checkpoint_cannot_be_read(
    cli: Cli, echo: Server, value: bytes
) -> None:
    spoil(cli, "UPDATE head SET state = ?", value)
    result = cli.on_db("chat", stdin="lost?\n")
    assert (result.code, result.out) == (3, "")
    assert result.err.startswith("turnfold: the checkpoint of chat-default cannot be read (it ")
    assert result.err.endswith(
        "; restore the database from a backup, or begin another conversation with --conversation\n"
    )
    assert result.err.count("\n") == 1
    assert len(echo.requests) == 1
    with sqlite3.connect(cli.db) as connection:
        assert connection.execute("SELECT count(*) FROM message").fetchone() == (1,)
    connection.close()


def test_a_log_that_cannot_be_read_is_one_line(cli: Cli) -> None:
    spoil(cli, "UPDATE entry SET data = ? WHERE log = 'main' AND seq = 0", b"garbage")
    result = cli.on_db("chat", stdin="lost?\n")
    assert result.code == 3
    assert result.err.startswith("turnfold: the checkpoint of chat-default cannot be read (")


@pytest.mark.parametrize("command", [("chat",), ("show", "chat-default")])
def test_a_row_that_cannot_be_read_is_one_line(cli: Cli, command: tuple[str, ...]) -> None:
    spoil(cli, "UPDATE head SET usage = ?", b"garbage")
    result = cli.on_db(*command, stdin="lost?\n")
    assert result.code == 3
    assert result.err.startswith("turnfold: head 'usage' of 'chat-default' cannot be read (")
    assert result.err.count("\n") == 1


def test_a_key_is_not_sent_where_only_the_database_says(cli: Cli, echo: Server) -> None:
    cli.on_db("chat", stdin="hello\n")
    with sqlite3.connect(cli.db) as connection:
        connection.execute(
            "UPDATE run SET meta = replace(CAST(meta AS TEXT), ?, ?)", (echo.url, "https://evil.test/v1")
        )
    connection.close()
    cli.monkeypatch.delenv("TURNFOLD_BASE_URL")
    cli.monkeypatch.setenv("TURNFOLD_API_KEY", "sk-mine")
    for command in (("chat",), ("resume", "chat-default")):
        result = cli.on_db(*command, stdin="two\n")
        assert (result.code, result.out) == (2, "")
        assert result.err == (
            "turnfold: your key would be sent to https://evil.test/v1, which only the database names; "
            "if that is right, say so with --base-url https://evil.test/v1\n"
        )


def test_a_query_of_an_address_is_not_stored_and_asked_for_again(cli: Cli, echo: Server) -> None:
    cli.on_db("chat", "--base-url", f"{echo.url}?key=secret-in-query", stdin="hello\n")
    cli.monkeypatch.delenv("TURNFOLD_BASE_URL")
    result = cli.on_db("chat", stdin="two\n")
    assert result.code == 2
    assert result.err == (
        f"turnfold: the query of the base URL {echo.url} was not stored; give the whole URL with --base-url\n"
    )
    assert b"secret-in-query" not in b"".join(file.read_bytes() for file in cli.db.parent.glob("chat.db*"))
