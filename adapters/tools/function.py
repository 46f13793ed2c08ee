"""``tool``: a plain function as a tool. Read ``FunctionTool.run`` for what one call does.

An async function runs on the event loop, any other in a worker thread. Threads cannot be stopped. A call that is
cancelled has had its grace by then (decision 5), so its thread is abandoned rather than waited for: the run goes on,
its record says that the outcome is unknown, and what the thread still returns is dropped. A long sync tool can look
for that with ``trio.from_thread.check_cancelled()``. Tools have threads of their own to use up, ``MAX_THREADS`` in all,
so that deaf ones cannot starve the stores.
"""

import functools
import inspect
from collections.abc import Awaitable, Callable, Mapping
from difflib import get_close_matches
from typing import Any, Generic, ParamSpec, TypeVar, overload

import msgspec
import trio

from ...effects.question import Policy, Reconcile
from ...effects.record import NO_NOTES
from ...effects.tool import Await, Control, Invocation, ToolResult, ToolSpec
from ...effects.transcript import ToolDeclaration, clean_json
from .context import DONE, ToolContext
from .definition import define
from .errors import ArgumentsError, CannotSuspendError, ToolResultError

__all__ = ["MAX_THREADS", "FunctionTool", "result_of", "tool"]

P = ParamSpec("P")
R = TypeVar("R")

MAX_THREADS = 40
_threads: "trio.lowlevel.RunVar[trio.CapacityLimiter]" = trio.lowlevel.RunVar("turnfold_tool_threads")

Progress = Callable[[ToolResult], Awaitable[None]]


class FunctionTool(Generic[P, R]):
    """A function that a model can call; called in the ordinary way it is still that function."""

    def __init__(
        self,
        function: Callable[P, R],
        *,
        name: str | None = None,
        description: str | None = None,
        replayable: bool = False,
        side_effects: bool = False,
        sequential: bool = False,
        notes: Mapping[str, str] = NO_NOTES,
        completion: bool = False,
        timeout_ms: int = 0,
        policy: Policy | None = None,
        reconcile: Reconcile | None = None,
    ) -> None:
        functools.update_wrapper(self, function)
        definition = define(function, name, description)
        declaration = ToolDeclaration(definition.name, definition.description, definition.parameters)
        self.spec = ToolSpec(
            declaration,
            replayable,
            side_effects,
            sequential,
            notes,
            completion=completion,
            timeout_ms=timeout_ms,
            has_policy=policy is not None,
            reconciles=reconcile is not None,
        )
        self.policy = policy
        self.reconcile = reconcile
        self._function: Callable[..., Any] = function
        self._arguments = definition.arguments
        self._context = definition.context
        self._is_async = _is_async(function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function itself: nothing is checked or converted."""
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"FunctionTool({self.spec.name!r})"

    async def run(self, invocation: Invocation, progress: Progress) -> ToolResult | Control:
        """Carry out one call; what the function raises propagates.

        Raises ``ArgumentsError`` when the arguments are not what the signature says, ``ToolResultError`` when the value
        cannot be given to a model, and ``CannotSuspendError`` when the function wants to wait where nobody can.
        """
        answer = await self._answer(invocation, progress)
        if isinstance(answer, Await) and not invocation.can_suspend:
            raise CannotSuspendError("the tool asked to wait for an outside result, which is not possible here")
        return answer

    async def _answer(self, invocation: Invocation, progress: Progress) -> ToolResult | Control:
        arguments = self._converted(invocation.arguments)
        if self._context is not None:
            send = progress if self._is_async else functools.partial(_send_from_thread, progress)
            arguments[self._context] = ToolContext(
                invocation.key, invocation.call_id, invocation.model_call_id, send, invocation.can_suspend
            )
        if self._is_async:
            return result_of(await self._function(**arguments))
        call = functools.partial(self._function, **arguments)
        return result_of(await trio.to_thread.run_sync(call, abandon_on_cancel=True, limiter=_limiter()))

    def _converted(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return msgspec.structs.asdict(msgspec.convert(arguments, self._arguments, str_keys=True))
        except msgspec.ValidationError as error:
            raise ArgumentsError(self.spec.name, _problems(arguments, self._arguments) or _whole(error)) from error


@overload
def tool(function: Callable[P, R], /) -> FunctionTool[P, R]: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    replayable: bool = False,
    side_effects: bool = False,
    sequential: bool = False,
    notes: Mapping[str, str] = NO_NOTES,
    completion: bool = False,
    timeout_ms: int = 0,
    policy: Policy | None = None,
    reconcile: Reconcile | None = None,
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    replayable: bool = False,
    side_effects: bool = False,
    sequential: bool = False,
    notes: Mapping[str, str] = NO_NOTES,
    completion: bool = False,
    timeout_ms: int = 0,
    policy: Policy | None = None,
    reconcile: Reconcile | None = None,
    **unknown: Any,
) -> Any:
    """Make a function a tool: ``@tool``, or ``@tool(side_effects=True)`` with options.

    Name, description and the JSON Schema of the arguments come from the signature and a Google-style docstring;
    parameters may also be described by ``Annotated[..., msgspec.Meta(description=...)]``. The options:

    - ``name``, ``description``: what the model is told, instead of the function's name and docstring.
    - ``replayable``: the model may be told to call again when nobody knows what became of a call.
    - ``side_effects``: it changes something outside; a call that was cut off needs review, unless it is replayable.
    - ``sequential``: a batch of calls with one of this tool runs one call at a time.
    - ``notes``: texts by name, put on every record of a call.
    - ``completion``: the tool may end a durable run, with ``Complete``; such a call stands alone in its output.
    - ``timeout_ms``: how long a call may take, in a durable run (0: as long as its ``Limits.tool_ms`` lets it).
    - ``policy``: asked before each call of a durable run what to do with it (a ``CallPolicy``).
    - ``reconcile``: asked, when a durable run is resumed, what became of a call that was cut off.

    A text that the function returns is given to the model as it is, a ``ToolResult`` too; any other value as compact
    JSON, and as ``structured`` to hosts; ``None`` as the empty text. ``Await``, ``Detached`` and ``Complete`` say what
    becomes of the call in a durable run. An exception makes the call fail with its text.

    Raises ``ToolDefinitionError`` for a function that cannot be a tool, and ``TypeError`` for any other option.
    """
    _refuse(unknown)
    make = functools.partial(
        FunctionTool[..., Any],
        name=name,
        description=description,
        replayable=replayable,
        side_effects=side_effects,
        sequential=sequential,
        notes=notes,
        completion=completion,
        timeout_ms=timeout_ms,
        policy=policy,
        reconcile=reconcile,
    )
    return make if function is None else make(function)


def _refuse(unknown: Mapping[str, Any]) -> None:
    for name in unknown:
        known = [*inspect.signature(tool).parameters][1:-1]
        similar = get_close_matches(name, known, 1)
        hint = f"did you mean {similar[0]}?" if similar else f"there are {', '.join(known)}"
        raise TypeError(f"tool() has no option {name!r}; {hint}")


def result_of(value: Any) -> ToolResult | Control:
    """What a tool's value is as a result; raises ``ToolResultError`` when it cannot be written as JSON."""
    if isinstance(value, str):
        return ToolResult(str.__str__(value))
    if isinstance(value, ToolResult | Control):
        return value
    if value is None:
        return ToolResult()
    try:
        plain = msgspec.to_builtins(value, str_keys=True)
        try:
            text = msgspec.json.encode(plain)
        except UnicodeEncodeError:
            plain = clean_json(plain)
            text = msgspec.json.encode(plain)
    except (TypeError, ValueError, RecursionError) as error:
        kind = type(value).__qualname__
        raise ToolResultError(f"the tool returned a {kind} that cannot be written as JSON: {error}") from error
    return ToolResult(text.decode(), structured=plain)


def _is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it gives a coroutine: a partial, a decorated function or an object may hide that it does."""
    while isinstance(function, functools.partial):
        function = function.func
    inner = inspect.unwrap(function)
    return inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(type(inner).__call__)


def _limiter() -> trio.CapacityLimiter:
    try:
        return _threads.get()
    except LookupError:
        limiter = trio.CapacityLimiter(MAX_THREADS)
        _threads.set(limiter)
        return limiter


def _send_from_thread(progress: Progress, update: ToolResult) -> Awaitable[None]:
    trio.from_thread.run(progress, update)
    return DONE


def _problems(arguments: Mapping[str, Any], wanted: type[msgspec.Struct]) -> tuple[tuple[str, str], ...]:
    """What is wrong, argument by argument, where the conversion as a whole stops at the first."""
    fields = msgspec.structs.fields(wanted)
    found: list[tuple[str, str]] = []
    for field in fields:
        if field.name not in arguments:
            if field.required:
                found.append((field.name, "is missing"))
            continue
        try:
            msgspec.convert(arguments[field.name], field.type, str_keys=True)
        except msgspec.ValidationError as error:
            found.extend((_path(field.name, path), problem) for path, problem in _whole(error))
    known = {field.name for field in fields}
    found.extend((name, "is not an argument of this tool") for name in arguments if name not in known)
    return tuple(found)


def _whole(error: msgspec.ValidationError) -> tuple[tuple[str, str], ...]:
    """One error of msgspec's as a path from ``$`` and a sentence about it."""
    problem, _, where = str(error).replace("`", "").partition(" - at ")
    return ((where or "$", problem[:1].lower() + problem[1:]),)


def _path(name: str, within: str) -> str:
    """The path of a value that is at ``within`` (``$`` and so on) of an argument."""
    return within.replace("$", name, 1)
