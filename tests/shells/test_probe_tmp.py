import trio, pytest
from turnfold.adapters.models.scripted import ScriptedModel, call, say, think, fail, raw
from turnfold.effects.outcome import *
from turnfold.effects.model import *
from turnfold.effects.record import *
from turnfold.effects.tool import *
from turnfold.effects.transcript import *
from turnfold.core.run import Limits
from tests.shells.world import *

async def test_f1_failed_model_then_resume():
    w = World(); await w.say("hi")
    r = await w.run(ScriptedModel([fail()]))
    print(r.outcome)
    m = ScriptedModel(["ok"])
    r = await w.run(m)
    print(r.outcome, asked(m))
    assert r.text == "ok"

async def test_f2_superseded_then_failed_then_resume():
    w = World(); await w.say("one")
    n=0
    async def slow(inv): return "x"
    class M(ScriptedModel):
        async def stream(self, request):
            if len(self.requests)==0: await w.say("two")
            async for d in super().stream(request): yield d
    m = M(["first", fail()])
    r = await w.run(m)
    print(r.outcome, asked(m))
    m = ScriptedModel(["second"])
    r = await w.run(m)
    print(r.outcome, asked(m))
    assert r.text == "second"

async def test_f3_dropped_batch_then_failed_then_resume():
    w = World(); await w.say("one")
    class M(ScriptedModel):
        async def stream(self, request):
            if len(self.requests)==0: await w.say("two"); await trio.sleep(1)
            async for d in super().stream(request): yield d
    m = M([call("echo", {"x":"1"}), fail()])
    t = Tool("echo")
    r = await w.run(m, t)
    print(r.outcome, asked(m), t.invocations, r.blocks)
    m = ScriptedModel(["second"])
    r = await w.run(m, t)
    print(r.outcome, asked(m), r.blocks, r.calls)
    assert r.text == "second"

async def test_f5_record_name_raises():
    w = World(); await w.say("one")
    def bad(a): raise ValueError("boo")
    r = await w.run(ScriptedModel([call("echo"), "x"]), Tool("echo"), record_names={"echo": bad})
    print(r.outcome)
    assert r.outcome.kind is FailureKind.EXTENSION

async def test_f6_resume_of_nothing():
    w = World()
    r = await w.run(ScriptedModel(["x"]), journal=None)
    print(r.outcome, r.resume)
    await w.say("hi")
    r = await w.run(ScriptedModel(["x"]), journal=None, resume=r.resume)
    print(r.outcome)
    assert r.text == "x"

async def test_f9_surrogates_in_terminal_message():
    w = World(); await w.say("hi")
    r = await w.run(ScriptedModel([raw(StreamFinished(StopReason.STOP, message=AssistantMessage((TextPart("a\ud800b"),))))]))
    assert r.text == "a\ufffdb"

async def test_f9b_surrogates_in_ids():
    w = World(); await w.say("hi")
    r = await w.run(ScriptedModel([call("no\ud800ne", "{}", id="\udc00"), "ok"]))
    assert r.text == "ok"

async def test_f9c_parts():
    w = World(); await w.say("hi")
    async def parts(i): return ToolResult((TextPart("a\ud800"),))
    r = await w.run(ScriptedModel([call("t", "{}"), "ok"]), Tool("t", parts))
    assert r.text == "ok"
async def test_f9d_failing_tool():
    w = World(); await w.say("hi")
    async def parts(i): raise ValueError("a\ud800")
    r = await w.run(ScriptedModel([call("t", "{}"), "ok"]), Tool("t", parts))
    assert r.text == "ok"
async def test_f9e_fail():
    w = World(); await w.say("hi")
    r = await w.run(ScriptedModel([fail("x\ud800")]))
    print(r.outcome)
    assert r.outcome.message == "x\ufffd"
async def test_f10_tool_limit_display():
    w = World(); await w.say("hi"); v=Viewer()
    r = await w.run(ScriptedModel([call("t", "{}"), "ok"]), Tool("t"), limits=Limits(iterations=1), stream=v, stream_id="s")
    print(r.outcome)
    assert [b.call.status for b in v.snapshot.blocks]==["failed"]
async def test_f12_aclose():
    w = World(); await w.say("hi"); closed=[]
    class M:
        async def stream(self, request):
            try:
                yield BlockDelta(0, "x")
                yield StreamFinished()
            finally:
                await trio.lowlevel.checkpoint(); closed.append(1)
    r = await w.run(M())
    assert closed == [1]
async def test_f4_cancel_while_answer_queued():
    from turnfold.effects.tool import ToolResult
    w = World(); await w.say("hi")
    with trio.CancelScope() as scope:
        async def quick(i):
            scope.cancel(); return "x"
        class M(ScriptedModel):
            async def stream(self, request):
                async for d in super().stream(request): yield d
                scope.cancel()
        await w.run(M([call("t", "{}"), "ok"]), Tool("t", quick))
    print((await w.stored()).calls, (await w.stored()).outcome)
async def test_f4b():
    w = World(); await w.say("hi")
    with trio.CancelScope() as scope:
        class M(ScriptedModel):
            async def stream(self, request):
                scope.cancel()
                async for d in super().stream(request): yield d
        await w.run(M([call("t", "{}"), "ok"]), Tool("t"))
    print((await w.stored()).calls, (await w.stored()).outcome)
