//! English sentences about a small harbour town.

use crate::workload::draw::Draw;

pub(super) fn sentence(draw: &mut Draw) -> String {
    let who = draw.pick(&WHO);
    let (did, thing) = (draw.pick(&DID), draw.pick(&THINGS));
    let (place, when) = (draw.pick(&PLACES), draw.pick(&WHEN));
    let (count, reason) = (draw.number(2, 90), draw.pick(&REASONS));
    match draw.number(0, 10) {
        0 => format!("{when}, {who} {did} {count} {thing} {place}."),
        1 => format!("{} {did} the {thing} {place} {reason}.", capital(who)),
        2 => format!("Of the {count} {thing} kept {place}, only a few were still in use."),
        3 => format!("{when}, nobody had seen the {thing} {place}, and {who} began to ask why."),
        4 => format!("There is a note that {who} {did} the {thing} {reason}."),
        5 => format!("The {thing} {place} cost more than the {} did.", draw.pick(&THINGS)),
        6 => format!("{} said that the {thing} would last for {count} more years.", capital(who)),
        7 => format!("Visitors often ask about the {thing} {place}; {who} knows the story best."),
        8 => format!("{when}, the road was closed {reason}, so {who} {did} the {thing} by boat."),
        _ => format!("If the {thing} {place} get wet, {who} should be told at once."),
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

const WHO: [&str; 16] = [
    "the night crew",
    "the harbour office",
    "a young engineer",
    "the ferry captain",
    "the repair shop",
    "an old gardener",
    "the town council",
    "the museum",
    "the school teacher",
    "the second team",
    "a visiting doctor",
    "the baker",
    "the weather station",
    "her brother",
    "the new owner",
    "the post office",
];

const DID: [&str; 14] = [
    "counted",
    "repaired",
    "moved",
    "described",
    "checked",
    "sold",
    "measured",
    "painted",
    "stored",
    "compared",
    "cleaned",
    "found",
    "ordered",
    "replaced",
];

const THINGS: [&str; 20] = [
    "lanterns",
    "copper pipes",
    "old maps",
    "seed boxes",
    "letters",
    "clocks",
    "wooden crates",
    "pumps",
    "signal flags",
    "water samples",
    "bicycles",
    "account books",
    "windows",
    "fishing nets",
    "stone steps",
    "radio sets",
    "paper files",
    "spare wheels",
    "blankets",
    "bridges",
];

const PLACES: [&str; 14] = [
    "behind the old station",
    "near the river mouth",
    "in the upper valley",
    "along the canal",
    "at the north gate",
    "under the market hall",
    "on the third floor",
    "by the lighthouse",
    "in the east wing",
    "across the bay",
    "beside the quarry",
    "at the end of the road",
    "in the cold store",
    "next to the chapel",
];

const WHEN: [&str; 12] = [
    "In early spring",
    "Last Tuesday",
    "After the storm",
    "Two years ago",
    "Before the harvest",
    "That evening",
    "During the strike",
    "Toward the end of June",
    "On the first cold morning",
    "Once the roads were open",
    "For most of the winter",
    "On market days",
];

const REASONS: [&str; 10] = [
    "because of the rain",
    "without asking anyone",
    "to save some money",
    "for the summer guests",
    "as the law required",
    "after a long meeting",
    "with help from the school",
    "to make room for more",
    "before the inspection",
    "in less than a day",
];
