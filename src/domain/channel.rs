//! What a piece of an answer is: the answer itself, reasoning before it, or a call of a tool.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    Answer,
    Reasoning,
    ToolCall,
}

/// A set of channels, in one byte: every event of a stream has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Channels(u8);

impl Channel {
    /// In the order in which a chunk that speaks on several is taken to speak.
    const SPOKEN: [Self; 3] = [Self::Reasoning, Self::Answer, Self::ToolCall];

    fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl Channels {
    pub fn insert(&mut self, channel: Channel) {
        self.0 |= channel.bit();
    }

    pub fn extend(&mut self, more: Self) {
        self.0 |= more.0;
    }

    pub fn has(self, channel: Channel) -> bool {
        self.0 & channel.bit() != 0
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    pub fn iter(self) -> impl Iterator<Item = Channel> {
        Channel::SPOKEN.into_iter().filter(move |&channel| self.has(channel))
    }
}

#[cfg(test)]
impl<const N: usize> From<[Channel; N]> for Channels {
    fn from(list: [Channel; N]) -> Self {
        let mut channels = Self::default();
        for channel in list {
            channels.insert(channel);
        }
        channels
    }
}

#[cfg(test)]
impl<const N: usize> PartialEq<[Channel; N]> for Channels {
    fn eq(&self, list: &[Channel; N]) -> bool {
        *self == Self::from(*list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_are_told_once_and_in_the_order_of_speech() {
        let mut channels = Channels::default();
        assert!(channels.is_empty());
        for channel in [Channel::ToolCall, Channel::Answer, Channel::Reasoning, Channel::Answer] {
            channels.insert(channel);
        }
        assert_eq!(channels.iter().collect::<Vec<_>>(), Channel::SPOKEN);
        assert_eq!(channels.len(), 3);
        let mut answer = Channels::default();
        answer.insert(Channel::Answer);
        assert!(answer.has(Channel::Answer) && !answer.has(Channel::Reasoning));
        answer.extend(channels);
        assert_eq!(answer, channels);
    }
}
