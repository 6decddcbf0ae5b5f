//! From tokens wanted to text to write, without a tokenizer: learned from what servers report.
//!
//! A prompt is written to a size by our own count ([`super::weigh`]). What a server counts is close to a
//! straight line of it: the chat template's own tokens, plus so many tokens for each unit of size. All
//! prompts of a workload are made of the same words in another order, but for the question at their end. So what
//! one of them cost, the next with the same question will cost within a token or two: each report moves the
//! size of its length, and what is known of its question, to where they belong; wholly at first, then by a
//! part, so that chance is not chased.
//!
//! A prompt must also fit. Until a count is known, a long one is written so short that a tokenizer with twice as
//! many tokens as ours would still find room for it; and what a target refuses as too long is never sent again.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::domain::Room;

/// The tokens of a usual chat template, as long as nothing is known.
const TEMPLATE: f64 = 12.0;

/// The first report of a length moves its size wholly, and so do these if they are far off.
const EAGER: u32 = 4;
/// The parts by which later ones move it, and what is known of a form.
const PATIENT: f64 = 0.1;
const PATIENT_OF_FORM: f64 = 0.2;
/// An error so large is not yet that of a form, while little is known; two sizes so far apart tell a slope.
const FAR: f64 = 0.06;
/// Tokens for a unit of size: from the leanest tokenizer to one that knows only bytes.
const SLOPES: RangeInclusive<f64> = 0.3..=8.0;
/// An error so large is no chance: another tokenizer or template is at work.
const UPHEAVAL: f64 = 0.12;

/// Whatever a server reports, a prompt is never longer by our count than this many times what is wanted. The
/// leanest tokenizers of today need 1.4; a server that counts nothing must not be sent a book.
const MOST: f64 = 2.0;
const LEAST: f64 = 0.05;

/// A prompt of more tokens, to a target of which nothing is known, is written to half its length at first.
const LONG: u32 = 512;
/// A size that is not below this part of a refused one would be refused again.
const CLEARLY_LESS: f64 = 0.95;

/// Which of its few questions a prompt asks: each has words of its own, hence a cost of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Form(pub(super) u8);

/// What has been learned of one target and workload.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Ruler {
    /// By the length that is wanted.
    points: BTreeMap<u32, Point>,
    /// By how many tokens the prompts of a form are longer than the others.
    forms: BTreeMap<Form, f64>,
    /// What the target has room for. Not kept between two runs: it may be another server by then.
    #[serde(skip)]
    room: Room,
    /// No prompt is written larger. One of twice this size was refused, and what the target says of its room does not
    /// explain it.
    #[serde(skip)]
    ceiling: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Point {
    size: f64,
    /// Reports so far.
    seen: u32,
    /// The size and the count of the latest.
    latest: Option<(f64, f64)>,
    /// More than this makes no difference: the server cuts the prompt.
    most: Option<f64>,
}

/// Tokens are `template + size * slope`.
#[derive(Debug, Clone, Copy)]
struct Line {
    template: f64,
    slope: f64,
}

impl Ruler {
    pub(super) fn is_new(&self) -> bool {
        self.points.is_empty()
    }

    /// Lets the next report of each length move its size wholly; what is known of forms stays.
    pub(super) fn doubt(&mut self) {
        for point in self.points.values_mut() {
            point.seen = 0;
        }
    }

    /// Takes what the target has room for; whether that is news.
    pub(super) fn fit(&mut self, room: Room) -> bool {
        let news = room != self.room;
        if news {
            (self.room, self.ceiling) = (room, None);
        }
        news
    }

    pub(super) fn room(&self) -> Room {
        self.room
    }

    /// How large the next prompt of a length is to be written; `output` tokens of answer must fit beside it.
    pub(super) fn next_size(&self, wanted: u32, output: u32, form: Form) -> u32 {
        let size = self.size_for(wanted, form);
        let size = if self.is_new() { size.min(self.first_size(wanted, output)) } else { size };
        self.ceiling.map_or(size, |ceiling| size.min(ceiling.max(1.0) as u32))
    }

    /// The first prompts to a tokenizer that is not known yet.
    fn first_size(&self, wanted: u32, output: u32) -> u32 {
        match self.room.beside(output) {
            u32::MAX if wanted <= LONG => wanted,
            u32::MAX => wanted / 2,
            most => wanted.min(most / 2),
        }
    }

    /// A prompt of this size was refused as too long; it had so many tokens, if the target said so. `is_bound` if it
    /// said how many it takes.
    pub(super) fn refused(
        &mut self,
        (wanted, output): (u32, u32),
        form: Form,
        size: u32,
        tokens: Option<u64>,
        is_bound: bool,
    ) {
        if let Some(tokens) = tokens {
            self.learn(wanted, form, size, tokens);
        }
        let refused = f64::from(size);
        if f64::from(self.next_size(wanted, output, form)) <= CLEARLY_LESS * refused {
            return;
        }
        let point = Point { size: refused / 2.0, seen: 0, latest: None, most: None };
        self.points.insert(wanted, point);
        // A later count would lead back to what was refused, unless the bound keeps it from that.
        if tokens.is_some() || !is_bound {
            self.ceiling = Some(refused / 2.0);
        }
    }

    /// How large a prompt is to be written so that the server counts as many tokens as wanted.
    pub(super) fn size_for(&self, wanted: u32, form: Form) -> u32 {
        let line = self.line();
        let usual = match self.points.get(&wanted) {
            Some(point) => point.size,
            None => line.size_of(f64::from(wanted)),
        };
        let more = self.forms.get(&form).copied().unwrap_or_default();
        bounded(wanted, usual - more / line.slope).round() as u32
    }

    /// A prompt of this size, written for a length, was counted by the server.
    pub(super) fn learn(&mut self, wanted: u32, form: Form, size: u32, reported: u64) {
        if reported == 0 || wanted == 0 || size == 0 {
            return;
        }
        let (goal, size, reported) = (f64::from(wanted), f64::from(size), reported as f64);
        let slope = self.slope_at(wanted, size, reported);
        let more = self.forms.get(&form).copied();
        // The size with which a prompt of no form in particular would have met its length.
        let better = bounded(wanted, size + (goal - reported + more.unwrap_or_default()) / slope);
        let error = (reported / goal - 1.0).abs();
        let point = self.points.entry(wanted).or_insert(Point { size, seen: 0, latest: None, most: None });
        point.notice_cut(goal, size, reported);
        // A form that comes for the first time may well cost so much more.
        if error > UPHEAVAL && more.is_some() {
            point.seen = 0;
            self.forms.clear();
        }
        let surplus = (point.size - better) * slope;
        // Of several that were under way together, only the first tells anything new.
        let is_news = (point.size - more.unwrap_or_default() / slope - size).abs() < 2.0;
        if point.seen == 0 || (point.seen < EAGER && error > FAR) {
            point.size = better;
        } else if let Some(more) = more {
            point.size += PATIENT * (better - point.size);
            self.forms.insert(form, more + PATIENT_OF_FORM * surplus);
        } else {
            // What all forms have in common is the mean of what has been seen; the rest is this form's own.
            let part = 1.0 / f64::from(point.seen + 1);
            point.size += part * (better - point.size);
            self.forms.insert(form, (1.0 - part) * surplus);
        }
        if is_news {
            point.seen = point.seen.saturating_add(1);
        }
        point.latest = Some((size, reported));
        point.size = point.size.min(point.most.unwrap_or(f64::INFINITY));
    }

    /// What one unit of size costs at this length: as two reports of it say, else as the line does.
    fn slope_at(&self, wanted: u32, size: f64, reported: f64) -> f64 {
        let latest = self.points.get(&wanted).and_then(|point| point.latest);
        let between = latest
            .filter(|(other, _)| (other / size - 1.0).abs() > FAR)
            .map(|(other, count)| (reported - count) / (size - other))
            .filter(|slope| SLOPES.contains(slope));
        between.unwrap_or_else(|| self.line_through(size, reported).slope)
    }

    /// The line through what is known: each point lies where its length was met.
    fn line(&self) -> Line {
        let known: Vec<(f64, f64)> =
            self.points.iter().map(|(wanted, point)| (point.size, f64::from(*wanted))).collect();
        match known.as_slice() {
            [] => Line { template: TEMPLATE, slope: 1.0 },
            [(size, tokens)] => Line::through(*size, *tokens),
            [(size, tokens), .., (larger, more)] => {
                let slope = (more - tokens) / (larger - size);
                let template = tokens - size * slope;
                // Chance in two points that lie close together makes nonsense of a line.
                if slope.is_finite() && slope > 0.0 && (0.0..=0.9 * tokens).contains(&template) {
                    Line { template, slope }
                } else {
                    Line::through(*larger, *more)
                }
            }
        }
    }

    /// As steep as what is known says, or as a first report says.
    fn line_through(&self, size: f64, reported: f64) -> Line {
        if self.points.len() >= 2 { self.line() } else { Line::through(size, reported) }
    }
}

impl Point {
    /// A longer prompt that is not counted as one, and is still too short, was cut: to send yet more would only
    /// be a burden.
    fn notice_cut(&mut self, goal: f64, size: f64, reported: f64) {
        let Some((before, count)) = self.latest else { return };
        if size > before * (1.0 + FAR) && reported <= count * 1.01 && reported < goal * (1.0 - FAR) {
            self.most = Some(before);
        }
    }
}

impl Line {
    /// With the usual template.
    fn through(size: f64, tokens: f64) -> Self {
        let template = TEMPLATE.min(tokens / 2.0);
        Self { template, slope: ((tokens - template) / size.max(1.0)).max(0.05) }
    }

    fn size_of(self, tokens: f64) -> f64 {
        (tokens - self.template) / self.slope
    }
}

fn bounded(wanted: u32, size: f64) -> f64 {
    size.clamp(LEAST * f64::from(wanted), MOST * f64::from(wanted)).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: Form = Form(0);

    /// Probes a server that counts `template + slope * size`, and a little more or less by chance.
    fn probe(ruler: &mut Ruler, wanted: u32, server: impl Fn(f64) -> f64, probes: u32) -> Vec<f64> {
        (0..probes)
            .map(|_| {
                let size = ruler.size_for(wanted, FORM);
                let reported = server(f64::from(size)).round();
                ruler.learn(wanted, FORM, size, reported as u64);
                reported / f64::from(wanted) - 1.0
            })
            .collect()
    }

    #[test]
    fn lengths_are_met_after_three_reports_whatever_the_tokenizer() {
        for (template, slope) in [(0.0, 1.0), (9.0, 0.75), (35.0, 1.1), (20.0, 2.0), (12.0, 4.0)] {
            for wanted in [100, 500, 2000, 8000] {
                let errors = probe(&mut Ruler::default(), wanted, |size| template + slope * size, 8);
                assert!(
                    errors[3..].iter().all(|error| error.abs() < 0.03),
                    "{template} {slope} {wanted}: {errors:?}"
                );
            }
        }
    }

    /// Probes a server that takes a context of tokens and refuses the rest, telling `told` of it; gives the counts of
    /// the prompts that fitted.
    fn refusing(
        wanted: u32,
        context: u32,
        slope: f64,
        told: impl Fn(u64) -> (Option<u64>, Option<u32>),
    ) -> Vec<Option<u64>> {
        const OUTPUT: u32 = 256;
        let mut ruler = Ruler::default();
        let mut probe = || {
            let (goal, output) = ruler.room().fit(wanted, OUTPUT);
            let size = ruler.next_size(goal, output, FORM);
            let tokens = (14.0 + slope * f64::from(size)).round() as u64;
            if tokens + u64::from(output) <= u64::from(context) {
                ruler.learn(goal, FORM, size, tokens);
                return Some(tokens);
            }
            let (count, bound) = told(tokens);
            ruler.fit(ruler.room().and(Room { context: bound, input: None }));
            let fitted = ruler.room().fit(wanted, OUTPUT);
            ruler.refused(fitted, FORM, size, count, bound.is_some());
            None
        };
        (0..12).map(|_| probe()).collect()
    }

    #[test]
    fn a_refused_prompt_is_followed_by_one_that_fits() {
        for slope in [0.8, 1.0, 2.0, 3.0] {
            for wanted in [600, 3500, 6000, 100_000] {
                let full = refusing(wanted, 4096, slope, |tokens| (Some(tokens), Some(4096)));
                let bound = refusing(wanted, 4096, slope, |_| (None, Some(4096)));
                let goal = f64::from(wanted.min(3700));
                for probes in [full, bound] {
                    assert!(probes[2..].iter().all(Option::is_some), "{slope} {wanted}: {probes:?}");
                    let last = probes[11].unwrap() as f64;
                    assert!((0.95..1.05).contains(&(last / goal)), "{slope} {wanted}: {probes:?}");
                }
            }
        }
    }

    #[test]
    fn a_refusal_without_a_number_shortens_prompts_until_they_are_taken_and_no_longer_after() {
        for slope in [1.0, 2.0, 5.0] {
            for told in [|_: u64| (None, None), |tokens: u64| (Some(tokens), None)] {
                let probes = refusing(100_000, 4096, slope, told);
                let fits = probes.iter().position(Option::is_some).unwrap();
                assert!(fits <= 8, "{slope}: {probes:?}");
                assert!(probes[fits..].iter().all(Option::is_some), "{slope}: {probes:?}");
            }
        }
    }

    #[test]
    fn a_bound_that_does_not_hold_leads_to_shorter_prompts_all_the_same() {
        let probes = refusing(6000, 2048, 1.0, |tokens| (Some(tokens), Some(4096)));
        let fits = probes.iter().position(Option::is_some).unwrap();
        assert!(fits <= 3 && probes[fits..].iter().all(Option::is_some), "{probes:?}");
    }

    #[test]
    fn the_first_prompt_is_short_only_where_a_long_one_might_not_fit() {
        let mut ruler = Ruler::default();
        assert_eq!(ruler.next_size(6000, 256, FORM), 3000);
        assert!(ruler.next_size(400, 256, FORM) > 380);
        ruler.fit(Room { context: Some(131_072), input: None });
        assert!(ruler.next_size(6000, 256, FORM) > 5900);
        ruler.fit(Room { context: Some(8192), input: None });
        assert!((3700..=3968).contains(&ruler.next_size(6000, 256, FORM)));
        ruler.learn(6000, FORM, 3000, 3012);
        assert!(ruler.next_size(6000, 256, FORM) > 5900);
    }

    #[test]
    fn what_was_learned_of_some_lengths_holds_for_others() {
        let mut ruler = Ruler::default();
        let server = |size: f64| 30.0 + 1.6 * size;
        probe(&mut ruler, 100, server, 3);
        probe(&mut ruler, 4000, server, 3);
        let errors = probe(&mut ruler, 1000, server, 1);
        assert!(errors[0].abs() < 0.02, "{errors:?}");
    }

    #[test]
    fn another_tokenizer_is_learned_at_once() {
        let mut ruler = Ruler::default();
        probe(&mut ruler, 1000, |size| 12.0 + size, 50);
        let errors = probe(&mut ruler, 1000, |size| 30.0 + 1.5 * size, 5);
        assert!(errors[0] > 0.3 && errors[3..].iter().all(|error| error.abs() < 0.03), "{errors:?}");
    }

    #[test]
    fn what_a_form_costs_more_is_learned_from_its_first_prompt_on() {
        let mut ruler = Ruler::default();
        let more = [0.0, 9.0, -7.0, 4.0];
        let mut errors = Vec::new();
        for round in 0..24_u8 {
            let form = Form(round % 4);
            let size = ruler.size_for(100, form);
            let reported = 20.0 + 1.3 * f64::from(size) + more[usize::from(form.0)];
            ruler.learn(100, form, size, reported.round() as u64);
            errors.push(reported.round() - 100.0);
        }
        assert!(errors[8..].iter().all(|error| error.abs() <= 3.0), "{errors:?}");
        assert!(errors[16..].iter().all(|error| error.abs() <= 2.0), "{errors:?}");
    }

    #[test]
    fn chance_is_not_chased() {
        let mut ruler = Ruler::default();
        probe(&mut ruler, 100, |size| 12.0 + size, 10);
        let before = ruler.size_for(100, FORM);
        ruler.learn(100, FORM, before, 104);
        assert!(before.abs_diff(ruler.size_for(100, FORM)) <= 1);
    }

    #[test]
    fn a_server_that_cuts_prompts_is_not_sent_longer_ones() {
        let mut ruler = Ruler::default();
        let server = |size: f64| (12.0 + size).min(4096.0);
        let errors = probe(&mut ruler, 6000, server, 30);
        assert!(errors.iter().all(|error| *error < 0.0));
        assert!(ruler.size_for(6000, FORM) <= 6000, "{}", ruler.size_for(6000, FORM));
    }

    #[test]
    fn a_server_that_counts_wrongly_is_not_sent_a_book() {
        for reported in [0, 1, 5] {
            let mut ruler = Ruler::default();
            let errors = probe(&mut ruler, 1000, |_| f64::from(reported), 100);
            assert_eq!(errors.len(), 100);
            assert!(ruler.size_for(1000, FORM) <= 2000);
        }
        let mut ruler = Ruler::default();
        probe(&mut ruler, 1000, |_| 1e18, 100);
        assert!(ruler.size_for(1000, FORM) >= 50);
    }
}
