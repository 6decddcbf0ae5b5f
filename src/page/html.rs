//! Text as HTML: nothing that came from outside can become a part of the page's own code.

use std::fmt::Write as _;

/// Fit for the text of an element and for a quoted attribute, in HTML as in SVG.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

/// Adds a formatted piece: writing to a string cannot fail.
pub fn put(page: &mut String, piece: std::fmt::Arguments<'_>) {
    page.write_fmt(piece).expect("a string takes everything");
}

/// A picture with what it shows in words, for those who cannot see it.
pub fn figure(class: &str, svg: &str, caption: &str) -> String {
    format!("<figure class=\"{class}\">\n{svg}<figcaption>{caption}</figcaption>\n</figure>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_outside_becomes_code() {
        assert_eq!(
            escape("<script>alert('a' & \"b\")</script>\u{0}"),
            "&lt;script&gt;alert(&#39;a&#39; &amp; &quot;b&quot;)&lt;/script&gt; "
        );
        assert_eq!(escape("vllm 0.33 é 中"), "vllm 0.33 é 中");
    }
}
