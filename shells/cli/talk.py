"""Who talks: a person at a terminal (``Talk``), or a pipe with one message a line (``answer_lines``)."""

from collections.abc import Awaitable, Callable, Mapping

from .conversation import Chat
from .execution import Answered, Holder, Idle, Interrupted, Ready, Unanswered, Waiting, waits, why
from .exits import ExitCode
from .hints import typed
from .history import Exchange
from .keyboard import MAX_TERMINAL_LINE, LineReader, LineTooLongError
from .style import clean, shortened

__all__ = ["Talk", "answer_lines"]

SHOWN = 3
"""How many exchanges are shown when a conversation is taken up again."""

_HELP = """\
  /retry    ask again for an answer to what has none
  /history  show the whole conversation
  /help     show this
  /quit     leave (so do Ctrl-D and Ctrl-C); the conversation is kept
  Ctrl-C stops an answer. Lines that are pasted together are one message."""


async def answer_lines(chat: Chat, reader: LineReader) -> ExitCode:
    """Answer each line of the input, after what was left without an answer; ends at the first turn that fails."""
    # Nothing is added to a conversation that cannot go on.
    await chat.told()
    standing = await chat.standing()
    if isinstance(standing, Answered):
        await chat.deliver(standing.outcome)
    elif not isinstance(standing, Idle):
        chat.notes.line("turnfold: the last message has no answer yet: asking for one")
        code = await chat.turn()
        if code is not ExitCode.OK:
            return code
    while not chat.interrupts.leaving:
        line: str | None = None
        with chat.interrupts.waiting():
            line = await reader.line()
        if line is None:
            break
        if line.strip():
            await chat.say(line)
            code = await chat.turn()
            if code is not ExitCode.OK:
                if reader.has_more:
                    chat.complain("the lines after it were not sent; send them again")
                return code
    return ExitCode.INTERRUPTED if chat.interrupts.leaving else ExitCode.OK


class Talk:
    """A person at a terminal."""

    def __init__(self, chat: Chat, reader: LineReader) -> None:
        self._chat = chat
        self._reader = reader
        self._screen = chat.notes
        self._style = chat.notes.style
        chat.ask = self._ask_to_take_over
        self._commands: Mapping[str, Callable[[], Awaitable[ExitCode | None]]] = {
            "/retry": self._retry,
            "/history": self._history,
            "/help": self._help,
        }

    async def converse(self) -> ExitCode:
        """Talk until the person leaves."""
        code = await self._take_up()
        while not self._chat.interrupts.leaving:
            line = await self._line("> ")
            if line is None or line.strip() == "/quit":
                return ExitCode.INTERRUPTED if self._chat.interrupts.leaving else ExitCode.OK
            code = await self._on_line(line.strip("\n"))
        return code or ExitCode.OK

    async def _on_line(self, line: str) -> ExitCode | None:
        word = line.strip()
        if not word:
            return None
        if word.startswith("/") and word[1:].isalpha():
            command = self._commands.get(word)
            if command is None:
                self._chat.complain(f"there is no command {word}; /help lists those there are")
                return None
            return await command()
        await self._chat.say(line)
        return await self._chat.turn()

    async def _take_up(self) -> ExitCode | None:
        """Show where the conversation was, and finish what was interrupted."""
        job = self._chat.job
        model = " ".join(clean(job.meta.get(name, "")) for name in ("brand", "model"))
        self._dim(f"{model} · conversation {job.conversation} · /help lists the commands")
        told, waiting = await self._chat.told()
        if told:
            more = "" if len(told) <= SHOWN else f" (/history shows all {len(told)} exchanges)"
            self._dim(f"earlier{more}:")
            for exchange in told[-SHOWN:]:
                self._show(exchange, brief=True)
        for question in waiting:
            self._show(Exchange(question), brief=True)
        match await self._chat.standing():
            case Answered(outcome=outcome):
                self._dim("the last answer was saved, but may not have been shown:")
                await self._chat.deliver(outcome)
            case Interrupted():
                holder = await self._chat.holder()
                if holder is None or holder.gone:
                    self._dim("the last turn was interrupted before it had an answer; going on with it")
                return await self._chat.turn()
            case Waiting(count=count):
                self._chat.complain(f"the last message has no answer yet: {waits(count)}, and /retry looks again")
            case Ready():
                self._dim("what the last turn waited for is there; going on with it")
                return await self._chat.turn()
            case Unanswered(outcome=outcome):
                self._chat.complain(f"the last message has no answer ({why(outcome)}); /retry asks again")
            case Idle() if not told:
                self._screen.line()
            case Idle():
                pass
        return None

    async def _line(self, prompt: str) -> str | None:
        """The next line; nothing when the person leaves."""
        while True:
            self._screen.prompt(self._style.bold(prompt))
            line: str | None = None
            try:
                with self._chat.interrupts.waiting():
                    line = await self._reader.line()
            except LineTooLongError:
                self._screen.finish()
                self._chat.complain(
                    f"the terminal cut a line at {MAX_TERMINAL_LINE} bytes, so it was not sent; break it into "
                    f"several lines, or pipe it in: {typed('chat')} < FILE"
                )
                continue
            if line is None:
                self._screen.line()
            return line

    async def _ask_to_take_over(self, holder: Holder) -> bool:
        self._chat.complain(f"{holder}; Enter waits for it, t takes the conversation over, Ctrl-C leaves")
        line = await self._line("wait? ")
        if line is None:
            self._chat.interrupts.leaving = True
        return line is not None and line.strip().lower() == "t"

    async def _retry(self) -> ExitCode | None:
        standing = await self._chat.standing()
        if isinstance(standing, Idle):
            self._dim("nothing waits for an answer")
            return None
        if isinstance(standing, Answered):
            await self._chat.deliver(standing.outcome)
            return None
        return await self._chat.turn()

    async def _history(self) -> None:
        told, waiting = await self._chat.told()
        for exchange in (*told, *map(Exchange, waiting)):
            self._show(exchange, brief=False)
        if not told and not waiting:
            self._dim("nothing was said yet")

    async def _help(self) -> None:
        self._screen.line(_HELP)

    def _show(self, exchange: Exchange, brief: bool) -> None:
        question = shortened(exchange.question, 200) if brief else clean(exchange.question)
        self._screen.line(self._style.dim("> ") + question)
        for name in exchange.calls:
            self._screen.line(self._style.dim(f"  · {clean(name)}"))
        if exchange.answer:
            self._screen.line(shortened(exchange.answer, 400) if brief else clean(exchange.answer))
            self._screen.line()

    def _dim(self, text: str) -> None:
        self._screen.line(self._style.dim(text))
