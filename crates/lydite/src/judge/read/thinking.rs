//! Leaving out what a model thought before it answered.

use std::borrow::Cow;

/// The names of tags that models think in.
const NAMES: [&str; 3] = ["think", "thinking", "reasoning"];

/// A reply without its thinking, in any of the tags' spellings.
///
/// What follows an opening tag that is never closed is thinking; so is what stands before a closing
/// tag that was never opened, since some servers cut the opening one off.
pub(super) fn without_thinking(reply: &str) -> Cow<'_, str> {
    let mut kept = String::new();
    let mut found = false;
    let mut answer_start = Some(0);
    for tag in tags(reply) {
        found = true;
        match (tag.closes, answer_start) {
            (false, Some(start)) => {
                kept.push_str(reply.get(start..tag.start).unwrap_or_default());
                answer_start = None;
            }
            (false, None) => {}
            (true, None) => answer_start = Some(tag.end),
            (true, Some(_)) => {
                kept.clear();
                answer_start = Some(tag.end);
            }
        }
    }
    if !found {
        return Cow::Borrowed(reply);
    }
    if let Some(start) = answer_start {
        kept.push_str(reply.get(start..).unwrap_or_default());
    }
    Cow::Owned(kept)
}

/// A tag's bytes, brackets included.
struct Tag {
    start: usize,
    end: usize,
    closes: bool,
}

fn tags(text: &str) -> impl Iterator<Item = Tag> {
    memchr::memchr_iter(b'<', text.as_bytes()).filter_map(|start| {
        let inside = text.get(start + 1..)?;
        let (closes, inside) = match inside.strip_prefix('/') {
            Some(inside) => (true, inside),
            None => (false, inside),
        };
        let letters = inside.bytes().take_while(u8::is_ascii_alphabetic).take(16);
        let (name, rest) = inside.split_at_checked(letters.count())?;
        NAMES
            .iter()
            .any(|known| known.eq_ignore_ascii_case(name))
            .then_some(())?;
        let rest = rest.strip_prefix('>')?;
        Some(Tag {
            start,
            end: text.len() - rest.len(),
            closes,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::without_thinking;

    #[test]
    fn thinking_is_left_out() {
        for (reply, answer) in [
            ("Y", "Y"),
            ("<think>Y</think>N", "N"),
            ("<THINKING>\nY\n</Thinking>\nN", "\nN"),
            ("<reasoning>Y</reasoning> N", " N"),
            ("N<think>Y", "N"),
            ("<think>N", ""),
            ("Y</think>N", "N"),
            ("Y</think>Y</think>N", "N"),
            ("<think>a<think>b</think>Y</think>N", "N"),
            ("<think>a</think>N<think>b</think>.", "N."),
            (
                "a < b, <thinker>, <think, </b>",
                "a < b, <thinker>, <think, </b>",
            ),
        ] {
            assert_eq!(without_thinking(reply), answer, "{reply}");
        }
    }
}
