//! Nothing that a server may write makes a dialect panic, nor mean more than it says.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sloprobe::protocol::Dialect;

const DIALECTS: [Dialect; 8] = [
    Dialect::OpenAiChat,
    Dialect::OpenAiCompletions,
    Dialect::OpenAiResponses,
    Dialect::Anthropic,
    Dialect::Gemini,
    Dialect::Tgi,
    Dialect::Triton,
    Dialect::Ollama,
];

fuzz_target!(|input: &[u8]| {
    let Some((&first, body)) = input.split_first() else { return };
    let dialect = DIALECTS[usize::from(first & 7)];
    let meaning = if first & 8 == 0 { dialect.interpret(body) } else { dialect.interpret_whole(body) };
    if let Ok(meaning) = meaning {
        assert!(meaning.channels.len() <= body.len());
        assert!(meaning.channels.len() == meaning.channels.iter().count());
        assert!(meaning.text.len() + meaning.thought.len() <= body.len());
    }
    let _ = Dialect::explain(body);
});
