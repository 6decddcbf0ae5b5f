//! `rag`: passages as a retriever would return them, one of which holds the answer to the question at the end.

use super::length::Length;
use super::prose::Writer;
use crate::domain::Language;

/// Characters of one passage, as retrievers commonly cut them.
const PASSAGE_CHARACTERS: usize = 900;

pub(super) fn write(writer: &mut Writer, ending: &mut Writer, length: Length) -> String {
    let depot = writer.number(100, 999);
    let code = writer.number(1000, 9999);
    let (fact, question) = match writer.language() {
        Language::En => (
            format!("The access code of depot {depot} is {code}. "),
            format!(
                "\nQuestion {}: using only the passages above, what is the access code of depot {depot}, \
                 and what else is said in that passage?",
                ending.number(10_000, 99_999)
            ),
        ),
        Language::Zh => (
            format!("{depot}号仓库的门禁密码是{code}。"),
            format!(
                "\n问题{}:仅根据以上资料,{depot}号仓库的门禁密码是多少?该段资料还说了什么?",
                ending.number(10_000, 99_999)
            ),
        ),
    };
    let room = length.less(fact.chars().count() + question.chars().count()).characters();
    let passages = room.div_ceil(PASSAGE_CHARACTERS).max(1);
    let holder = writer.number(0, passages as u64) as usize;
    let mut text = String::new();
    let mut left = room;
    for index in 0..passages {
        let title = title(writer, index);
        let share = (left / (passages - index)).saturating_sub(title.chars().count());
        let body = writer.sentences(share);
        left = left.saturating_sub(title.chars().count() + body.chars().count() + 1);
        text.push_str(&title);
        if index == holder {
            text.push_str(&fact);
        }
        text.push_str(&body);
        text.push('\n');
    }
    text + &question
}

fn title(writer: &mut Writer, index: usize) -> String {
    let page = writer.number(1, 400);
    match writer.language() {
        Language::En => format!("[Passage {}] Regional records, page {page}\n", index + 1),
        Language::Zh => format!("[资料{}] 地方档案,第{page}页\n", index + 1),
    }
}
