"""``turnfold chat`` in a pipe: one line is one message, answers go to stdout and everything else to stderr."""

from collections.abc import Callable

from turnfold.core.run import Retries
from turnfold.shells.runtime import Runtime

from tests.shells.cli.conftest import Cli
from tests.shells.cli.server import Call, HangUp, Length, Reply, Server, Status, Think, asked, results

KEY_NOT_ACCEPTED = (
    "turnfold: openai_compatible: the API key was not accepted (401): Incorrect API key "
    "provided; the message is kept, and turnfold chat --db DB answers it\n"
)


def refuse_wrong(body: dict[str, object]) -> list[str | Status]:
    if "wrong" in asked(body):
        return [Status(401, {"error": {"message": "Incorrect API key provided"}})]
    return [f"You said: {asked(body)}"]


def test_each_line_is_answered_in_its_turn(cli: Cli, echo: Server) -> None:
    result = cli.on_db("chat", stdin="hello\n\nand again")
    assert (result.code, result.out, result.err) == (0, "You said: hello (1)\nYou said: and again (2)\n", "")
    assert [asked(body) for body in echo.requests] == ["hello", "and again"]


def test_the_conversation_goes_on_in_another_process(cli: Cli, echo: Server) -> None:
    cli.on_db("chat", stdin="one\n")
    result = cli.on_db("chat", stdin="two\n")
    assert result.out == "You said: two (2)\n"
    roles = [(message["role"], message["content"]) for message in echo.requests[-1]["messages"]]
    assert roles == [("user", "one"), ("assistant", "You said: one (1)"), ("user", "two")]


def test_conversations_know_nothing_of_each_other(cli: Cli) -> None:
    cli.on_db("chat", stdin="one\n")
    result = cli.on_db("chat", "--conversation", "other", stdin="two\n")
    assert result.out == "You said: two (1)\n"


def test_tools_run_and_show_on_stderr(bare: Cli, serve: Callable[[Reply], Server]) -> None:
    def reply(body: dict[str, object]) -> list[str | Call | Think]:
        if not results(body):
            return [Think("Arithmetic."), "Let me see.", Call("calculator", {"expression": "6 * 7"})]
        return ["It is ", *results(body)]

    serve(reply)
    result = bare.on_db("chat", stdin="what is it?\n")
    assert (result.code, result.out) == (0, "It is 42\n")
    # A call that is over at once may never be seen running.
    shown = [line for line in result.err.splitlines() if line != "  → calculator …"]
    assert shown[0] == "Let me see."
    assert shown[1].startswith("  ✓ calculator ")
    assert len(shown) == 2


def test_a_failing_turn_ends_the_input_and_keeps_the_message(bare: Cli, serve: Callable[[Reply], Server]) -> None:
    server = serve(refuse_wrong)
    result = bare.on_db("chat", stdin="wrong\nnever sent\n")
    assert (result.code, result.out) == (1, "")
    assert result.err == KEY_NOT_ACCEPTED + "turnfold: the lines after it were not sent; send them again\n"
    server.reply = lambda body: [f"At last: {asked(body)}"]
    result = bare.on_db("chat", stdin="")
    assert (result.code, result.out) == (0, "At last: wrong\n")
    assert result.err == "turnfold: the last message has no answer yet: asking for one\n"
    assert [message["content"] for message in server.requests[-1]["messages"]] == ["wrong"]


def test_an_answered_message_is_not_asked_again(cli: Cli, echo: Server) -> None:
    cli.on_db("chat", stdin="hello\n")
    result = cli.on_db("chat", stdin="")
    assert (result.code, result.out, result.err) == (0, "", "")
    assert len(echo.requests) == 1


def test_what_somebody_else_wrote_passes_a_pipe_as_it_is(bare: Cli, serve: Callable[[Reply], Server]) -> None:
    serve(lambda _: ["\x1b[31mred\x1b[0m"])
    assert bare.on_db("chat", stdin="colour?\n").out == "\x1b[31mred\x1b[0m\n"


def test_an_answer_that_is_not_complete_says_so(bare: Cli, serve: Callable[[Reply], Server]) -> None:
    serve(lambda _: ["The beginning", Length()])
    result = bare.on_db("chat", stdin="tell me\n")
    assert (result.code, result.out) == (0, "The beginning\n")
    assert result.err == "  (cut off at the output limit; --max-tokens raises it)\n"
    shown = bare.on_db("show", "chat-default").out
    assert shown.endswith("\noutcome  The beginning\n  (cut off at the output limit; --max-tokens raises it)\n")


def test_an_answer_that_is_cut_off_before_it_begins_says_what_to_do(
    bare: Cli, serve: Callable[[Reply], Server]
) -> None:
    serve(lambda _: [Length()])
    result = bare.on_db("chat", stdin="tell me\n")
    assert (result.code, result.out) == (1, "")
    assert result.err == (
        "turnfold: the model reached its output limit before it said anything; --max-tokens raises it; "
        "the message is kept, and turnfold chat --db DB answers it\n"
    )


def test_an_answer_that_broke_off_is_asked_for_again(bare: Cli, serve: Callable[[Reply], Server]) -> None:
    replies = iter([["I look.", Call("calculator", {"expression": "1"}), HangUp()], ["Here it is."]])
    serve(lambda _: next(replies))
    bare.monkeypatch.setitem(Runtime.run.__kwdefaults__, "retries", Retries(first_ms=1))
    result = bare.on_db("chat", stdin="tell me\n")
    assert (result.code, result.out) == (0, "Here it is.\n")
    assert {*result.err.splitlines()} == {"I look.", "  (the answer broke off; asked again)"}


def test_commands_are_messages_like_any_other(cli: Cli) -> None:
    """A pipe has nobody who could mean them otherwise."""
    assert cli.on_db("chat", stdin="/quit\n").out == "You said: /quit (1)\n"


def test_flags_reach_the_model(cli: Cli, echo: Server) -> None:
    cli.on_db(
        "chat", "--system", "Be brief.", "--max-tokens", "99", "--no-tools", "--api-key", "sk-from-a-flag", stdin="hi\n"
    )
    body = echo.requests[-1]
    assert body["messages"][0] == {"role": "system", "content": "Be brief."}
    assert body["max_tokens"] == 99
    assert "tools" not in body
    assert echo.headers[-1]["authorization"] == "Bearer sk-from-a-flag"


def test_a_key_on_the_command_line_is_warned_of(cli: Cli) -> None:
    warning = "turnfold: anybody on this machine can see a key on the command line; set TURNFOLD_API_KEY instead\n"
    assert cli.on_db("chat", "--api-key", "sk-from-a-flag", stdin="hi\n").err == warning
    assert cli.on_db("resume", "chat-default", "--api-key", "sk-from-a-flag").err.startswith(warning)


def test_a_key_may_travel_unencrypted_only_where_one_says_so_each_time(cli: Cli, echo: Server) -> None:
    """This address is no name of this machine, and reaches it all the same."""
    cli.monkeypatch.setenv("TURNFOLD_API_KEY", "sk-mine")
    cli.monkeypatch.setenv("TURNFOLD_BASE_URL", echo.url.replace("127.0.0.1", "0.0.0.0"))
    assert cli.on_db("chat", "--allow-http", stdin="one\n").out == "You said: one (1)\n"
    assert echo.headers[-1]["authorization"] == "Bearer sk-mine"
    for command in (("chat",), ("resume", "chat-default")):
        result = cli.on_db(*command, stdin="two\n")
        assert (result.code, result.out) == (2, "")
        assert "would travel unencrypted to 0.0.0.0:" in result.err


def test_the_setup_is_remembered_but_for_the_key(cli: Cli, echo: Server) -> None:
    cli.monkeypatch.setenv("TURNFOLD_API_KEY", "sk-very-secret")
    cli.on_db("chat", "--system", "Be brief.", "--no-tools", stdin="one\n")
    assert b"sk-very-secret" not in b"".join(file.read_bytes() for file in cli.db.parent.glob("chat.db*"))
    for name in ("BRAND", "MODEL", "BASE_URL", "API_KEY"):
        cli.monkeypatch.delenv(f"TURNFOLD_{name}")
    result = cli.on_db("chat", stdin="two\n")
    assert (result.code, result.out) == (0, "You said: two (2)\n")
    assert echo.requests[-1]["messages"][0]["content"] == "Be brief."
    assert "tools" not in echo.requests[-1]
    assert "secret" not in str(echo.headers[-1])


def test_without_a_path_the_database_is_in_a_private_folder(cli: Cli) -> None:
    assert cli("chat", stdin="hello\n").code == 0
    folder = cli.db.parent / "data" / "turnfold"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "turnfold.db").stat().st_mode & 0o777 == 0o600
    assert "answered" in cli("runs").out
