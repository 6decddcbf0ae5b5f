use super::*;

/// Prompt, context, input.
type Numbers = (Option<u64>, Option<u32>, Option<u32>);

fn numbers(text: &str) -> Option<Numbers> {
    let Lesson { too_long, prompt_tokens, room, .. } = lesson(text);
    too_long.then_some((prompt_tokens, room.context, room.input))
}

const fn both(prompt: u64, context: u32) -> Numbers {
    (Some(prompt), Some(context), None)
}

const fn input(prompt: u64, input: u32) -> Numbers {
    (Some(prompt), None, Some(input))
}

const SAID: &[(&str, Numbers)] = &[
    // OpenAI, Azure, DeepSeek, llama-cpp-python; vLLM until 0.10
    (
        "This model's maximum context length is 4096 tokens. However, you requested 20477 tokens (20445 in the messages, 32 in the completion). Please reduce the length of the messages or completion.",
        both(20445, 4096),
    ),
    (
        "This model's maximum context length is 4097 tokens, however you requested 4116 tokens (3860 in your prompt; 256 for the completion).",
        both(3860, 4097),
    ),
    (
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9800 tokens. Please reduce the length of the messages.",
        both(9800, 8192),
    ),
    (
        "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300012 tokens. Please reduce the length of the messages.",
        input(300_012, 272_000),
    ),
    // vLLM of today stops counting where the room ends
    (
        "This model's maximum context length is 16384 tokens. However, your prompt contains at least 16385 input tokens, which exceeds this limit even without any output tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value=16385)",
        (None, Some(16384), None),
    ),
    (
        "This model's maximum context length is 131072 tokens. However, you requested 128000 output tokens and your prompt contains at least 3073 input tokens, for a total of at least 131073 tokens.",
        (None, Some(131_072), None),
    ),
    (
        "'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum context length is 8192 tokens and your request has 9800 input tokens (5000 > 8192 - 9800).",
        both(9800, 8192),
    ),
    ("The decoder prompt (length 9800) is longer than the maximum model length of 8192.", both(9800, 8192)),
    (
        "The prompt (total length 25938) is too long to fit into the model (context length 4096). Make sure that `max_model_len` is no smaller",
        both(25938, 4096),
    ),
    ("Input prompt (2664 tokens) is too long and exceeds limit of 2048", input(2664, 2048)),
    // SGLang
    (
        "The input (61709 tokens) is longer than the model's context length (40960 tokens).",
        both(61709, 40960),
    ),
    (
        "Requested token count exceeds the model's maximum context length of 202752 tokens. You requested a total of 202941 tokens: 170941 tokens from the input messages and 32000 tokens for the completion.",
        both(170_941, 202_752),
    ),
    ("Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens).", both(160_062, 59862)),
    // llama.cpp
    (
        "request (20331 tokens) exceeds the available context size (4096 tokens), try increasing it",
        both(20331, 4096),
    ),
    (
        "the request exceeds the available context size. try increasing the context size or enable context shift",
        (None, None, None),
    ),
    ("Requested tokens (2100) exceed context window of 512", both(2100, 512)),
    // TGI
    (
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 3474 `inputs` tokens and 60 `max_new_tokens`",
        both(3474, 2048),
    ),
    ("Input validation error: `inputs` must have less than 1024 tokens. Given: 1168", input(1168, 1024)),
    // Anthropic
    ("prompt is too long: 208310 tokens > 200000 maximum", input(208_310, 200_000)),
    (
        "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again",
        both(188_240, 200_000),
    ),
    // Gemini
    (
        "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).",
        input(1_200_293, 1_048_576),
    ),
    ("The input token count exceeds the maximum number of tokens allowed 32768.", (None, None, Some(32768))),
    (
        "Unable to submit request because the input token count is 40000 but model only supports up to 32768.",
        input(40000, 32768),
    ),
    // TensorRT-LLM, alone and behind Triton
    (
        "Cannot process new request: Prompt length (5056) exceeds maximum sequence length (2048)",
        both(5056, 2048),
    ),
    (
        "Encountered an error when fetching new request: Prompt length (200) exceeds maximum input length (128)",
        input(200, 128),
    ),
    (
        "The sum of prompt length (5000.0) and query length (1.0) should not exceed max_num_tokens (4096)",
        both(5000, 4096),
    ),
    ("prompt is longer than the context of 4096 tokens", (None, Some(4096), None)),
    // Ollama
    ("prompt too long; exceeded max context length by 200 tokens", (None, None, None)),
    ("the input length exceeds the context length", (None, None, None)),
    // LM Studio, Mistral, xAI, DashScope, OpenRouter
    (
        "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.",
        (None, Some(4096), None),
    ),
    (
        "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
        both(40000, 32768),
    ),
    (
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        input(537_812, 131_072),
    ),
    ("Range of input length should be [1, 30720]", (None, None, Some(30720))),
    (
        "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens (120000 of text input, 20000 in the output).",
        both(120_000, 131_072),
    ),
    // LiteLLM quotes what it was told
    (
        r#"litellm.ContextWindowExceededError: Hosted_vllmException - {\"error\":{\"message\":\"This model's maximum context length is 8192 tokens. However, you requested 9800 tokens (9600 in the messages, 200 in the completion).\"}}"#,
        both(9600, 8192),
    ),
    // the code alone
    ("Please reduce the length of the messages. code: context_length_exceeded", (None, None, None)),
];

#[test]
fn every_engine_says_it_in_its_own_words() {
    for (text, expected) in SAID {
        assert_eq!(numbers(text), Some(*expected), "{text}");
    }
}

#[test]
fn what_is_about_something_else_teaches_nothing() {
    for text in [
        "",
        "The model `tiny` does not exist.",
        "server busy, please try again. maximum pending requests exceeded",
        "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40000. The input or output tokens must be reduced.",
        "max_tokens is too large: 50000. This model supports at most 16384 completion tokens.",
        "`max_new_tokens` must be <= 192",
        "[{'loc': ('body', 'messages'), 'msg': 'field required'}]",
    ] {
        assert_eq!(lesson(text), Lesson::default(), "{text}");
    }
}

#[test]
fn wild_numbers_are_no_numbers() {
    let numbers = |text| numbers(text).unwrap();
    assert_eq!(numbers("request (20331 tokens) exceeds the available context size (3 tokens)").1, None);
    assert_eq!(
        numbers("This model's maximum context length is 99999999999999999999999 tokens."),
        (None, None, None)
    );
    assert_eq!(numbers("prompt is too long: 0 tokens > 200000 maximum").0, None);
    assert_eq!(lesson(&"context length is ".repeat(100_000)).room, Room::default());
}

#[test]
fn a_least_limit_of_the_answer_is_read_where_it_is_named() {
    for (text, least) in [
        (
            "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 8 instead.",
            Some(16),
        ),
        ("max_tokens must be at least 32, got 8.", Some(32)),
        ("8 is less than the minimum of 10 - 'max_tokens'", Some(10)),
        ("max_tokens must be at least 1, got -160.", None),
        ("max_tokens must be at least 1000000.", None),
        ("temperature must be at least 16", None),
        ("max_tokens must be >= thinking.budget_tokens", None),
    ] {
        assert_eq!(lesson(text), Lesson { least_output: least, ..Lesson::default() }, "{text}");
    }
}
