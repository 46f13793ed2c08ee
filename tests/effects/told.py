"""What providers say when they fail, and what it means: tables for all tests of failures, whoever tells them."""

import json
from typing import Any

from turnfold.effects.transcript import ErrorKind

NOW = 1_800_000_000.0
"""2027-01-15T08:00:00Z."""

Page = dict[str, Any]

FULL = {
    "alibaba": "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 98304]",
    "anthropic": "prompt is too long: 211000 tokens > 200000 maximum",
    "anthropic, with the answer": "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000",
    "bedrock": "Input is too long for requested model.",
    "copilot": "prompt token count of 93854 exceeds the limit of 90000",
    "google": "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
    "groq": "Please reduce the length of the messages or completion.",
    "kimi": "Your request exceeded model token limit: 262144",
    "kimi, of the input": "Input token length too long",
    "llama.cpp": "the request exceeds the available context size. try increasing the context size",
    "lm studio": "Trying to keep the first 5000 tokens when context the overflows. However, the model is ...",
    "lm studio, before": "tokens to keep from the initial prompt is greater than the context length",
    "minimax": "invalid params, context window exceeds limit (2013)",
    "mistral": "Prompt contains 40000 tokens and is too large for model with 32768 maximum context length",
    "ollama": "prompt too long; exceeded max context length by 5 tokens",
    "openai": "Your input exceeds the context window of this model.",
    "openrouter": "This endpoint's maximum context length is 128000 tokens. However, you requested about 200000 tokens",
    "sglang": "The input (7000 tokens) is longer than the model's context length (4096 tokens).",
    "tgi": "`inputs` tokens + `max_new_tokens` must be <= 8192. Given: 9000 `inputs` tokens and 20 `max_new_tokens`",
    "vllm": "The decoder prompt (length 12000) is longer than the maximum model length of 8192.",
    "vllm, with the answer": "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens",
    "volcengine": "Total tokens of image and text exceed max message tokens. Request id: 021",
    "volcengine, of the input": "Input length 203743 exceeds the maximum length 202752",
    "xai": "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "z.ai": "Prompt exceeds max length",
    "anybody": "context_length_exceeded",
    "somebody": "Context length exceeded",
    "others": "Too many tokens in the request",
    "some": "token limit exceeded",
    "a small one": "The input of 600 tokens exceeds the limit of 512 tokens",
    "a large one": "prompt exceeds the limit of 128,000",
    "one more": "model_context_window_exceeded",
}
"""Words for a full context, by who says so."""

NOT_FULL = [
    "max_tokens exceeds the limit of 8192",
    "the number of images exceeds the limit of 10",
    "integer above maximum value, expected a value <= 32768, but got 65536 instead",
    "The input image size exceeds the limit of 20 MB",
    "The input exceeds the limit of 20000 KB",
    "The input exceeds the limit of 100,000 characters",
    "Number of images in the prompt exceeds the limit of 8",
    "image of 4000 tokens in the prompt exceeds the limit of 2000",
    "input tool name exceeds the limit of 64 characters",
    "top_logprobs: token count 30 exceeds the limit of 20",
    "embedding input: batch size 300 in input exceeds the limit of 256",
    "embedding input: batch size 3000 in input exceeds the limit of 2048",
    "Too many tokens in stop sequences",
    "",
]
"""Words for something else that is too large, or none at all."""


def plain(said: str, **members: Any) -> Page:
    return {"error": {"message": said, **members}}


def behind(raw: Any, said: str = "Provider returned error", **members: Any) -> Page:
    """As OpenRouter repeats the server behind it."""
    raw = raw if isinstance(raw, str) else json.dumps(raw)
    return plain(said, metadata={"raw": raw, "provider_name": "Acme", **members})


def base(number: int, said: str = "no") -> Page:
    """As MiniMax reports, with a status of 200."""
    return {"base_resp": {"status_code": number, "status_msg": said}}


def limited(*quotas: str, delay: str = "", more: str = "") -> Page:
    """As Google tells that a limit was met; the words are the same for all of them."""
    said = (
        "You exceeded your current quota, please check your plan and billing details: https://ai.dev/docs/rate-limits."
    )
    failure = {"@type": "google.rpc.QuotaFailure", "violations": [{"quotaId": quota} for quota in quotas]}
    details = [failure, *([{"@type": "google.rpc.RetryInfo", "retryDelay": delay}] if delay else [])]
    return plain(said + more, code=429, status="RESOURCE_EXHAUSTED", details=details)


MINUTE, DAY = (f"GenerateRequestsPer{time}PerProjectPerModel-FreeTier" for time in ("Minute", "Day"))
"""Names of Google's quotas."""

_SPENT = "You have reached your specified API usage limits. You will regain access on 2027-02-01 at 00:00 UTC."
_FLAGGED = 'acme/m requires moderation on Acme. Your input was flagged for "violence".'
_NO_RIGHT = "The caller does not have permission to execute the specified operation"
_UNSAFE = "Content violates usage guidelines. Team: t, Model: m, Failed check: SAFETY_CHECK_TYPE_BIO"
_NO_CREDITS = "Your newly created team doesn't have any credits yet. You can purchase credits on https://console.x.ai."
_BAD_XAI = "Incorrect API key provided: xa***ey. You can obtain an API key from https://console.x.ai."

REPORTS: list[tuple[str, int, Page, ErrorKind, str | None]] = [
    ("anthropic", 400, plain(_SPENT, type="invalid_request_error"), ErrorKind.QUOTA, "invalid_request_error"),
    ("anthropic", 429, plain(_SPENT, type="rate_limit_error"), ErrorKind.QUOTA, "rate_limit_error"),
    ("codex", 429, plain("The usage limit has been reached", type="usage_limit_reached"), ErrorKind.QUOTA, None),
    ("codex", 429, plain("no", type="usage_limit_reached"), ErrorKind.QUOTA, "usage_limit_reached"),
    ("moonshot", 429, plain("no", type="exceeded_current_quota_error"), ErrorKind.QUOTA, None),
    ("moonshot", 429, plain("You exceeded your current token quota: 0"), ErrorKind.QUOTA, None),
    ("zhipu", 429, plain("no", code="1113"), ErrorKind.QUOTA, "1113"),
    ("zhipu", 429, plain("no", code=1308), ErrorKind.QUOTA, "1308"),
    ("zhipu", 429, plain("余额不足或无可用资源包,请充值。"), ErrorKind.QUOTA, None),
    ("alibaba", 400, plain("no", code="Arrearage", type="Arrearage"), ErrorKind.QUOTA, "Arrearage"),
    ("volcengine", 403, plain("no", code="AccountOverdueError"), ErrorKind.QUOTA, "AccountOverdueError"),
    ("minimax", 500, plain("insufficient balance (1008)", type="api_error"), ErrorKind.QUOTA, "api_error"),
    ("zhipu", 400, plain("Prompt 超长", code="1261"), ErrorKind.OVERFLOW, "1261"),
    ("copilot", 400, plain("no", code="model_max_prompt_tokens_exceeded"), ErrorKind.OVERFLOW, None),
    ("zhipu", 400, plain("no", code="1261", type="a gateway's"), ErrorKind.INVALID_REQUEST, "1261"),
    ("zhipu", 429, plain("no", code="1302"), ErrorKind.RATE_LIMITED, "1302"),
    ("zhipu", 401, plain("no", code="1002"), ErrorKind.UNAUTHORIZED, "1002"),
    ("alibaba", 400, plain("no", code="data_inspection_failed"), ErrorKind.REFUSED, "data_inspection_failed"),
    ("zhipu", 400, plain("no", code="1301"), ErrorKind.REFUSED, "1301"),
    ("volcengine", 400, plain("no", code="SensitiveContentDetected"), ErrorKind.REFUSED, None),
    ("volcengine", 400, plain("no", code="SensitiveContentDetected.Violence"), ErrorKind.REFUSED, None),
    ("volcengine", 400, plain("no", code="InputTextSensitiveContentDetected"), ErrorKind.REFUSED, None),
    ("volcengine", 400, plain("no", code="OutputTextRiskDetection"), ErrorKind.REFUSED, None),
    ("deepseek", 400, plain("Content Exists Risk", code="invalid_request_error"), ErrorKind.REFUSED, None),
    ("minimax", 422, plain("input new_sensitive (1026)"), ErrorKind.REFUSED, None),
    ("openrouter", 403, plain(_FLAGGED, code=403), ErrorKind.REFUSED, "403"),
    ("openrouter", 403, plain("no", code=403, metadata={"reasons": ["violence"]}), ErrorKind.REFUSED, "403"),
    ("openrouter", 403, plain("no", code=403, metadata={"flagged_input": "x"}), ErrorKind.REFUSED, "403"),
    ("openrouter", 403, plain("no", code=403, metadata={"error_type": "refusal"}), ErrorKind.REFUSED, "refusal"),
    ("openrouter", 403, plain("no", code=403), ErrorKind.FORBIDDEN, "403"),
    ("openrouter", 400, behind(plain(FULL["anthropic"])), ErrorKind.OVERFLOW, None),
    ("openrouter", 400, behind(FULL["vllm"]), ErrorKind.OVERFLOW, None),
    ("openrouter", 400, behind(FULL["alibaba"]), ErrorKind.OVERFLOW, None),
    ("openrouter", 400, behind(behind(plain(FULL["sglang"]))), ErrorKind.OVERFLOW, None),
    ("openrouter", 400, behind(plain("no", code="1261"), provider_name="Z.AI"), ErrorKind.OVERFLOW, None),
    ("openrouter", 400, behind(plain("no", code="1002"), provider_name="Z.AI"), ErrorKind.INVALID_REQUEST, None),
    ("openrouter", 502, behind(plain("no", code="1261"), provider_name="Z.AI"), ErrorKind.UNAVAILABLE, None),
    ("openrouter", 400, behind(plain("no", code="1261")), ErrorKind.INVALID_REQUEST, None),
    ("openrouter", 429, behind(limited()), ErrorKind.QUOTA, None),
    ("openrouter", 429, behind(limited(MINUTE)), ErrorKind.RATE_LIMITED, None),
    ("openrouter", 403, plain("Key limit exceeded (total limit). Manage it at x", code=403), ErrorKind.QUOTA, "403"),
    ("anybody", 400, plain("metadata key limit exceeded"), ErrorKind.INVALID_REQUEST, None),
    ("openrouter", 502, behind(plain("no", code="insufficient_quota")), ErrorKind.QUOTA, "insufficient_quota"),
    ("openrouter", 502, behind(plain("no", code="invalid_api_key")), ErrorKind.UNAVAILABLE, None),
    ("openrouter", 429, behind("acme/m is temporarily rate-limited upstream."), ErrorKind.RATE_LIMITED, None),
    ("openrouter", 400, behind("ThrottlingException: Too many tokens"), ErrorKind.RATE_LIMITED, None),
    ("minimax", 200, base(1004, "login fail"), ErrorKind.UNAUTHORIZED, "1004"),
    ("minimax", 200, base(2049), ErrorKind.UNAUTHORIZED, "2049"),
    ("minimax", 200, base(1008), ErrorKind.QUOTA, "1008"),
    ("minimax", 200, base(2056), ErrorKind.QUOTA, "2056"),
    ("minimax", 200, base(1002), ErrorKind.RATE_LIMITED, "1002"),
    ("minimax", 200, base(1039, "token limit"), ErrorKind.RATE_LIMITED, "1039"),
    ("minimax", 200, base(1026), ErrorKind.REFUSED, "1026"),
    ("minimax", 200, base(1001), ErrorKind.TIMEOUT, "1001"),
    ("minimax", 0, base(2013, FULL["minimax"]), ErrorKind.OVERFLOW, "2013"),
    ("minimax", 0, base(2013, "invalid params"), ErrorKind.INVALID_REQUEST, "2013"),
    ("xai", 400, {"code": "Client specified an invalid argument", "error": _BAD_XAI}, ErrorKind.UNAUTHORIZED, None),
    ("xai", 400, {"code": "argument", "error": "Expected a text."}, ErrorKind.INVALID_REQUEST, "argument"),
    ("bedrock", 400, plain("ThrottlingException: Too many tokens, please wait."), ErrorKind.RATE_LIMITED, None),
    ("groq", 413, plain("Request too large: rate limit of tokens per minute"), ErrorKind.RATE_LIMITED, None),
    ("anybody", 413, plain("no"), ErrorKind.OVERFLOW, None),
    ("xai", 403, {"code": _NO_RIGHT, "error": _UNSAFE}, ErrorKind.REFUSED, _NO_RIGHT),
    ("xai", 403, {"code": _NO_RIGHT, "error": _NO_CREDITS}, ErrorKind.QUOTA, _NO_RIGHT),
    ("xai", 403, {"code": _NO_RIGHT, "error": "no"}, ErrorKind.FORBIDDEN, _NO_RIGHT),
    ("xai", 429, {"code": "exhausted", "error": "Your team has used all available credits."}, ErrorKind.QUOTA, None),
    ("xai", 429, {"code": "exhausted", "error": "It reached its monthly spending limit."}, ErrorKind.QUOTA, None),
    ("anthropic", 400, plain("Output blocked by content filtering policy"), ErrorKind.REFUSED, None),
    ("openai", 400, plain("Your request was rejected as a result of our safety system."), ErrorKind.REFUSED, None),
    ("openai", 400, plain("no", code="moderation_blocked"), ErrorKind.REFUSED, "moderation_blocked"),
    ("google", 429, limited(), ErrorKind.QUOTA, None),
    ("google", 429, limited(delay="1s"), ErrorKind.RATE_LIMITED, None),
    ("google", 429, limited(delay="36000s"), ErrorKind.QUOTA, None),
    ("google", 429, limited(MINUTE), ErrorKind.RATE_LIMITED, None),
    ("google", 429, limited(MINUTE, DAY, delay="1s"), ErrorKind.QUOTA, None),
    ("google", 429, limited(DAY, delay="34s", more=" Please retry in 34.07s."), ErrorKind.QUOTA, None),
    ("google", 0, limited(MINUTE, delay="1s"), ErrorKind.RATE_LIMITED, None),
    ("anybody", 429, plain("Usage limit reached for 5 hours."), ErrorKind.QUOTA, None),
    ("anybody", 400, plain("Unsupported parameter: usage limits"), ErrorKind.INVALID_REQUEST, None),
    ("anybody", 429, plain("You have exceeded your per-minute usage limit."), ErrorKind.RATE_LIMITED, None),
    ("anybody", 429, plain("Usage limit reached; try again in a minute."), ErrorKind.RATE_LIMITED, None),
    ("anybody", 429, plain("Usage limit reached, try again in 3 months."), ErrorKind.QUOTA, None),
    ("anybody", 429, plain("Usage limit reached (a rate limit of this key)."), ErrorKind.RATE_LIMITED, None),
    ("anybody", 500, plain("A shard exceeded its usage limit.", type="server_error"), ErrorKind.UNAVAILABLE, None),
    ("anybody", 404, plain("The model reached-usage-limits does not exist"), ErrorKind.NOT_FOUND, None),
    ("zhipu", 500, plain("no", code="1001"), ErrorKind.UNAVAILABLE, "1001"),
    ("anybody", 500, plain("no", code=1001), ErrorKind.UNAVAILABLE, "1001"),
    ("anybody", 400, plain("no", code="1003"), ErrorKind.INVALID_REQUEST, "1003"),
]
"""Who reports what, with which status (0: none), what it means, and the code that is kept (none: any)."""

ABOUT_REPORTS = [f"{who}-{number}" for number, (who, *_) in enumerate(REPORTS)]

CODES: list[tuple[str, str, str | None]] = [
    ("sk-secret-key", "no sk-secret-key", "no ***"),
    ("invalid", "invalid_api_key", "invalid_api_key"),
    ("invalid", "invalid_thing", "***_thing"),
    ("xyz", "odd", "odd"),
    ("xyz", "oddxyz", "oddxyz"),
    ("xyz", "xyzodd", "xyzodd"),
    ("xyz", "xyz", None),
    ("xyz", "odd_xyz_odd", None),
    ("api", "invalid_api_key", "invalid_api_key"),
]
"""A key, a code that a provider answers with, and what of the code is shown."""

DELAYS: list[tuple[dict[str, str], int | None]] = [
    ({"retry-after-ms": "1500.4"}, 1_500),
    ({"retry-after-ms": "-1"}, 0),
    ({"retry-after-ms": "x", "retry-after": "2"}, 2_000),
    ({"retry-after": "0.25"}, 250),
    ({"retry-after": "-5"}, 0),
    ({"retry-after": "Fri, 15 Jan 2027 08:00:50 GMT"}, 50_000),
    ({"retry-after": "Fri, 15 Jan 2027 07:00:00 GMT"}, 0),
    ({"retry-after": "nan"}, None),
    ({"retry-after": "1e999"}, None),
    ({"retry-after": "Thu, 99 Foo 1970"}, None),
    ({"retry-after": ""}, None),
    ({}, None),
    ({"x-ratelimit-reset": "17"}, 17_000),
    ({"x-ratelimit-reset": "1800000005"}, 5_000),
    ({"x-ratelimit-reset": "1800000005000"}, 5_000),
    ({"x-ratelimit-reset": "1700000005"}, 0),
    ({"x-ratelimit-reset": "soon"}, None),
    ({"x-ratelimit-reset-ms": "1500"}, 1_500),
    ({"x-ratelimit-reset-ms": "1800000005000"}, 5_000),
    ({"x-ratelimit-reset-after": "1.25"}, 1_250),
    ({"x-ratelimit-reset-requests": "1s"}, 1_000),
    ({"x-ratelimit-reset-requests": "6m0s"}, 360_000),
    ({"x-ratelimit-reset-tokens": "1h2m3.5s"}, 3_723_500),
    ({"x-ratelimit-reset-tokens": "20ms"}, 20),
    ({"x-ratelimit-reset-tokens": "500µs"}, 0),
    ({"x-ratelimit-reset-requests": ""}, None),
    ({"anthropic-ratelimit-requests-reset": "2027-01-15T08:00:30Z"}, 30_000),
    ({"anthropic-ratelimit-tokens-reset": "2027-01-15T09:00:30.5+01:00"}, 30_000),
    ({"anthropic-ratelimit-input-tokens-reset": "2027-01-15T08:00:40Z"}, 40_000),
    ({"anthropic-ratelimit-output-tokens-reset": "2027-01-15T08:00:50Z"}, 50_000),
    ({"anthropic-ratelimit--reset": "2027-01-15T08:00:50Z"}, None),
    # The longest of what is said of the next request counts.
    ({"retry-after-ms": "250", "retry-after": "20"}, 20_000),
    ({"retry-after-ms": "25000", "retry-after": "20"}, 25_000),
    ({"retry-after": "7", "x-ratelimit-reset": "9"}, 9_000),
    ({"retry-after": "7", "x-ratelimit-reset-ms": "9000"}, 9_000),
    ({"retry-after": "7", "x-ratelimit-reset-after": "9"}, 9_000),
    ({"retry-after": "7", "x-ratelimit-reset": "9", "x-ratelimit-remaining": "3"}, 7_000),
    ({"x-ratelimit-reset": "9", "x-ratelimit-remaining": "3"}, None),
    ({"x-ratelimit-reset": "9", "x-ratelimit-remaining": "-1"}, 9_000),
    # When a single limit is whole again counts only where nothing else is said.
    ({"retry-after": "7", "x-ratelimit-reset-requests": "1m"}, 7_000),
    ({"retry-after": "7", "anthropic-ratelimit-tokens-reset": "2027-01-15T08:00:30Z"}, 7_000),
    ({"retry-after": "soon", "x-ratelimit-reset-requests": "1s"}, 1_000),
    # The one that is used up counts, or else the longest of those that do not say what is left, and no other.
    (
        {
            "x-ratelimit-remaining-requests": "12",
            "x-ratelimit-reset-requests": "6m",
            "x-ratelimit-remaining-tokens": "900",
            "x-ratelimit-reset-tokens": "3s",
        },
        None,
    ),
    (
        {
            "x-ratelimit-remaining-requests": "12",
            "x-ratelimit-reset-requests": "6m",
            "x-ratelimit-reset-tokens": "3s",
        },
        3_000,
    ),
    (
        {
            "x-ratelimit-remaining-requests": "12",
            "x-ratelimit-reset-requests": "24h",
            "x-ratelimit-remaining-tokens": "0",
            "x-ratelimit-reset-tokens": "3s",
        },
        3_000,
    ),
    ({"x-ratelimit-reset-requests": "24h", "x-ratelimit-reset-tokens": "3s"}, 86_400_000),
    (
        {
            "anthropic-ratelimit-requests-remaining": "9",
            "anthropic-ratelimit-requests-reset": "2027-01-15T09:00:00Z",
            "anthropic-ratelimit-input-tokens-remaining": "0",
            "anthropic-ratelimit-input-tokens-reset": "2027-01-15T08:00:03Z",
        },
        3_000,
    ),
]
"""Headers of an answer with status 429 that came at ``NOW``, and the delay in milliseconds that they ask for."""
