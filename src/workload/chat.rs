//! `chat`: a short question after as much small talk as the length asks for.

use super::length::Length;
use super::prose::Writer;
use crate::domain::Language;

pub(super) fn write(writer: &mut Writer, ending: &mut Writer, length: Length) -> String {
    let (a, b, c) = (ending.number(11, 99), ending.number(101, 999), ending.number(2, 19));
    let question = match ending.language() {
        Language::En => {
            let thing = ending.pick(&["crates", "tickets", "bottles", "parcels", "chairs"]);
            format!(
                "A shop has {b} {thing}, gets {a} more and gives {c} away. How many {thing} are left? \
                 Explain in one or two sentences."
            )
        }
        Language::Zh => {
            let thing = ending.pick(&["箱子", "车票", "瓶子", "包裹", "椅子"]);
            format!("店里有{b}个{thing},又进了{a}个,送出{c}个。还剩多少个{thing}?请用一两句话说明。")
        }
    };
    let room = length.less(question.chars().count()).characters();
    format!("{}{question}", writer.sentences(room))
}
