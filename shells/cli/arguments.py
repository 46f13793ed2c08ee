"""The command line as it is written: commands, flags, and the help that explains them.

Nothing here imports more than the standard library, so that ``--help`` and a misspelled flag answer at once.
"""

from argparse import (
    SUPPRESS,
    Action,
    ArgumentParser,
    ArgumentTypeError,
    BooleanOptionalAction,
    Namespace,
    RawDescriptionHelpFormatter,
)
from collections.abc import Sequence
from typing import Any, NoReturn

from .exits import CliError

__all__ = ["parse"]

_EPILOG = """\
exit codes:
  0  done                              5  another process holds the run
  1  it failed, or came too late       6  the run waits for something outside
  2  wrong flags, settings or values   70 a fault of turnfold's own
  3  the database cannot be used       130 left with Ctrl-C
  4  there is no such run or call

environment:
  TURNFOLD_BRAND, TURNFOLD_MODEL, TURNFOLD_BASE_URL, TURNFOLD_API_KEY  the model
  TURNFOLD_PROTOCOL  how it is spoken to, if not as usual
  NO_COLOR  no colours           XDG_DATA_HOME  where the database is by default
  Where TURNFOLD_BRAND is set, the other four are for that brand alone.
  A variable that is empty counts as not set.
"""

_DECIDE = """\
turnfold decide CALL (--approve | --reject REASON | --arguments JSON |
                             --result TEXT) [--by NAME] [--db PATH]"""


def parse(argv: Sequence[str] | None) -> Namespace:
    """The arguments; raises ``CliError`` for wrong ones, and ``SystemExit`` after ``--help`` and ``--version``."""
    parser = _Parser(
        prog="turnfold",
        description="LLM agents as durable, resumable runs: kill the process, and the run goes on where it was.",
        epilog=_EPILOG,
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    _debug(parser)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=_Parser)
    _add_demo(commands)
    _add_chat(commands)
    _add_runs(commands)
    _add_show(commands)
    _add_resume(commands)
    _add_waiting(commands)
    _add_decide(commands)
    _add_settle(commands)
    _add_cancel(commands)
    _add_vendors(commands)
    _add_models(commands)
    _add_probe(commands)
    arguments, unknown = parser.parse_known_args(argv)
    if unknown:
        what = " ".join(unknown)
        raise CliError(f"unrecognized arguments: {what}; turnfold {arguments.command} --help shows what there is")
    return _clean(arguments)


def _clean(arguments: Namespace) -> Namespace:
    """Without bytes that are no text, which only the name of a file may have."""
    for name, value in vars(arguments).items():
        if isinstance(value, str) and name != "db":
            setattr(arguments, name, value.encode(errors="surrogatepass").decode(errors="replace"))
    return arguments


class _Parser(ArgumentParser):
    """A parser whose errors are ours. ``intermixed``: flags may stand before an argument that can be left out."""

    intermixed = False

    def parse_known_args(self, *args: Any, **kwargs: Any) -> Any:
        if not self.intermixed:
            return super().parse_known_args(*args, **kwargs)
        # The other method is made of this one.
        self.intermixed = False
        try:
            return self.parse_known_intermixed_args(*args, **kwargs)
        finally:
            self.intermixed = True

    def error(self, message: str) -> NoReturn:
        raise CliError(f"{message}; {self.prog} --help shows what there is")


class _Version(Action):
    """Shows the version; looking it up takes a while, so only then."""

    def __call__(self, parser: ArgumentParser, *_: object) -> None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            found = version("turnfold")
        except PackageNotFoundError:
            found = "(not installed)"
        print(f"turnfold {found}")
        parser.exit()


def _add_demo(commands: Any) -> None:
    parser = _command(commands, "demo", "show a run that is killed and resumed; needs no network and no key")
    parser.add_argument(
        "--db", type=_path, metavar="PATH", help="keep the run in this database (default: a temporary one)"
    )
    parser.add_argument("--keep", action="store_true", help="do not remove the temporary database")
    parser.add_argument("--fast", action="store_true", help="with shorter pauses")


def _add_chat(commands: Any) -> None:
    parser = _command(commands, "chat", "talk to a model; the conversation outlives the process")
    _database(parser)
    parser.add_argument("--conversation", metavar="NAME", default="default", help="which one (default: %(default)s)")
    _model(parser)
    parser.add_argument("--take-over", action="store_true", help="take the conversation from a process that holds it")


def _add_runs(commands: Any) -> None:
    parser = _command(commands, "runs", "list the runs in a database, the latest first")
    _database(parser)
    parser.add_argument("--limit", type=_positive, default=20, metavar="N", help="at most this many (default: 20)")
    parser.add_argument("--json", action="store_true", help="as JSON")


def _add_show(commands: Any) -> None:
    parser = _command(commands, "show", "show what a run did: its blocks, calls, results and outcome")
    _run_id(parser)
    _database(parser)
    parser.add_argument("--json", action="store_true", help="as JSON, with results at full length")
    parser.add_argument("--arguments", action="store_true", help="show the arguments of calls too")


def _add_resume(commands: Any) -> None:
    parser = _command(commands, "resume", "go on with a run of chat or demo that was interrupted or had to wait")
    _run_id(parser)
    _database(parser)
    _model(parser)
    parser.add_argument("--wait", action="store_true", help="wait for a process that holds the run")
    parser.add_argument("--take-over", action="store_true", help="take the run from a process that holds it")
    # How the demonstration tells its own processes from a person who takes its run up.
    parser.add_argument("--watched", action="store_true", help=SUPPRESS)


def _add_waiting(commands: Any) -> None:
    parser = _command(commands, "waiting", "list the calls that wait for somebody, the longest first")
    _database(parser)
    parser.add_argument("--conversation", metavar="NAME", help="only those of this conversation")
    parser.add_argument("--limit", type=_positive, default=50, metavar="N", help="at most this many (default: 50)")
    parser.add_argument("--json", action="store_true", help="as JSON")


def _add_decide(commands: Any) -> None:
    parser = _command(commands, "decide", "decide a call that is paused, once; turnfold resume then carries it out")
    parser.usage = _DECIDE
    _call(parser)
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--approve", action="store_true", help="let it run as it is")
    how.add_argument("--reject", metavar="REASON", help="do not let it run; the model reads why")
    how.add_argument("--arguments", metavar="JSON", help="let it run with these; the model is told")
    how.add_argument("--result", metavar="TEXT", help="do not let it run, and give this as its result")
    parser.add_argument("--by", metavar="NAME", default="", help="who decides")
    _database(parser)


def _add_settle(commands: Any) -> None:
    parser = _command(commands, "settle", "say how a call ended that was awaited, handed over or needs review")
    _call(parser)
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--result", metavar="TEXT", help="it gave this")
    how.add_argument("--error", metavar="TEXT", help="it failed with this")
    _database(parser)


def _add_cancel(commands: Any) -> None:
    parser = _command(commands, "cancel", "end a run, whoever is at it: its calls are settled and saved")
    _run_id(parser)
    parser.add_argument("--reason", metavar="TEXT", default="", help="why, for its record")
    _database(parser)


def _add_vendors(commands: Any) -> None:
    parser = _command(commands, "vendors", "list the brands of models, with their protocols and addresses")
    parser.add_argument("--json", action="store_true", help="as JSON")


def _add_models(commands: Any) -> None:
    parser = _command(commands, "models", "list the models that a brand offers")
    _brand(parser)
    _address(parser)
    parser.add_argument("--json", action="store_true", help="as JSON")


def _add_probe(commands: Any) -> None:
    parser = _command(commands, "probe", "find out whether a brand accepts your key, and whether a model of it answers")
    _brand(parser)
    parser.add_argument(
        "model", metavar="MODEL", nargs="?", help="ask this model for a word, too (without BRAND: TURNFOLD_MODEL)"
    )
    parser.add_argument("--protocol", metavar="NAME", help="speak to MODEL like this; turnfold vendors has them")
    _address(parser)
    parser.intermixed = True


def _brand(parser: ArgumentParser) -> None:
    parser.add_argument(
        "brand", metavar="BRAND", nargs="?", help="its name, one of turnfold vendors (default: TURNFOLD_BRAND)"
    )


def _address(parser: Any) -> None:
    parser.add_argument(
        "--base-url", type=_url, metavar="URL", help="where the provider is, if not at its usual address"
    )
    parser.add_argument("--api-key", metavar="KEY", help="better in TURNFOLD_API_KEY: others can see a command line")
    parser.add_argument(
        "--allow-http", action="store_true", help="let the key travel unencrypted, in a network of your own"
    )


def _run_id(parser: ArgumentParser) -> None:
    parser.add_argument("run_id", metavar="RUN", help="its id, or as much of the beginning as no other run has")


def _call(parser: ArgumentParser) -> None:
    parser.add_argument("call_id", metavar="CALL", help="its id, or as much of the beginning as no other call has")


def _command(commands: Any, name: str, help: str) -> _Parser:
    parser: _Parser = commands.add_parser(
        name, help=help, description=help[0].upper() + help[1:] + ".", allow_abbrev=False
    )
    _debug(parser, nested=True)
    return parser


def _debug(parser: ArgumentParser, nested: bool = False) -> None:
    default: Any = SUPPRESS if nested else False
    parser.add_argument("--debug", action="store_true", default=default, help="show where an error came from")


def _database(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--db", type=_path, metavar="PATH", help="the database (default: turnfold/turnfold.db in your data folder)"
    )


def _model(parser: ArgumentParser) -> None:
    group = parser.add_argument_group(
        "model",
        "what is not given here or in the environment is as it was the last time, but for --api-key, --allow-http and "
        "--tool, which are not stored: give them every time",
    )
    group.add_argument("--brand", metavar="NAME", help="whose model; turnfold vendors lists those there are")
    group.add_argument("--model", metavar="NAME", help="the model's name, as its provider writes it")
    group.add_argument(
        "--protocol", metavar="NAME", help="how to speak to it, if not as usual; turnfold vendors has them"
    )
    _address(group)
    group.add_argument("--system", metavar="TEXT", help="the instruction that the model gets")
    group.add_argument("--max-tokens", type=_positive, metavar="N", help="limit each answer to this many tokens")
    group.add_argument("--tools", action=BooleanOptionalAction, help="offer a clock and a calculator (default: yes)")
    group.add_argument(
        "--tool", action="append", metavar="MODULE:NAME", help="offer a function of yours, this time; repeatable"
    )


def _path(text: str) -> str:
    if not text:
        raise ArgumentTypeError("it is empty, and has to be the path of a file")
    return text


def _url(text: str) -> str:
    """An empty one is most likely a variable that is not set; the vendor's own address was not asked for."""
    if not text.strip():
        raise ArgumentTypeError("it is empty, and has to be an address; leave it out for the usual one")
    return text


def _positive(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 2**31):
        raise ArgumentTypeError(f"{text!r} is not a number above 0")
    return int(text)
