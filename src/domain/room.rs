//! How long a prompt may be: what a target has room for, and what it says when it had none.

/// What a refusal says about lengths. What it leaves out is not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lesson {
    /// The prompt, or prompt and answer together, were too long.
    pub too_long: bool,
    /// How many tokens the prompt had, counted to its end.
    pub prompt_tokens: Option<u64>,
    pub room: Room,
    /// The least that may be asked for as the most tokens of an answer.
    pub least_output: Option<u32>,
}

/// The most tokens that a target takes; `None` is not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Room {
    /// Of prompt and answer together.
    pub context: Option<u32>,
    /// Of the prompt alone.
    pub input: Option<u32>,
}

/// What is left free of a room: a prompt is met within 3 %, and the template of a chat has a few tokens.
const RESERVE: u32 = 16;
const RESERVE_PART: u32 = 40;

/// No prompt is cut below this for the sake of its answer.
const LEAST_INPUT: u32 = 16;

impl Room {
    /// The tighter of two.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let least = |a: Option<u32>, b: Option<u32>| a.into_iter().chain(b).min();
        Self { context: least(self.context, other.context), input: least(self.input, other.input) }
    }

    /// The lengths of prompt and answer that fit, where these are wanted. The prompt gives way first; the answer
    /// only where it would take more than half of the context and leave too little for the prompt.
    #[must_use]
    pub fn fit(self, input: u32, output: u32) -> (u32, u32) {
        let output = self.context.map_or(output, |context| {
            let left = context.saturating_sub(input).saturating_sub(reserve(context));
            output.min(left.max(context / 2)).max(1)
        });
        (input.min(self.beside(output)), output)
    }

    /// The longest prompt beside an answer of this length.
    pub fn beside(self, output: u32) -> u32 {
        let context = self.context.map(|context| context.saturating_sub(output + reserve(context)));
        let input = self.input.map(|input| input.saturating_sub(reserve(input)));
        context.into_iter().chain(input).min().map_or(u32::MAX, |most| most.max(LEAST_INPUT))
    }
}

fn reserve(room: u32) -> u32 {
    RESERVE + room / RESERVE_PART
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(context: u32) -> Room {
        Room { context: Some(context), input: None }
    }

    #[test]
    fn what_fits_is_left_as_it_is() {
        assert_eq!(Room::default().fit(2_000_000, 100_000), (2_000_000, 100_000));
        assert_eq!(context(8192).fit(6000, 256), (6000, 256));
        assert_eq!(context(4096).fit(200, 1500), (200, 1500));
    }

    #[test]
    fn the_prompt_gives_way_before_the_answer() {
        let (input, output) = context(4096).fit(6000, 256);
        assert_eq!(output, 256);
        assert!((3600..=4096 - 256 - 16).contains(&input), "{input}");
        let input_alone = Room { context: None, input: Some(1024) };
        let (input, output) = input_alone.fit(6000, 1500);
        assert!((980..1024).contains(&input) && output == 1500, "{input}");
    }

    #[test]
    fn an_answer_that_leaves_no_room_for_the_prompt_is_shortened_too() {
        for (tokens, input, output) in [(1024, 200, 1500), (1024, 900, 1500), (64, 6000, 6000), (40, 1, 40)] {
            let (short_input, short_output) = context(tokens).fit(input, output);
            assert!(short_input <= input.max(LEAST_INPUT) && short_output <= output);
            assert!(short_input + short_output <= tokens, "{tokens}: {short_input} {short_output}");
            assert!(short_output >= output.min(tokens / 2), "{tokens}: {short_output}");
        }
        assert_eq!(context(1024).fit(200, 1500).0, 200);
    }

    #[test]
    fn of_two_rooms_the_tighter_counts() {
        let both = context(4096).and(Room { context: Some(8192), input: Some(100) });
        assert_eq!(both, Room { context: Some(4096), input: Some(100) });
    }
}
