//! English words and their opposites.

/// Whether one word is the opposite of the other, or the other with a prefix that negates (`available` and
/// `unavailable`). Words are in lower case; prefixes are looked at on their stems.
pub(super) fn are_opposite(a: (&str, &str), b: (&str, &str)) -> bool {
    let ((a, a_stem), (b, b_stem)) = (a, b);
    negates(a_stem, b_stem)
        || negates(b_stem, a_stem)
        || OPPOSITES.iter().any(|(one, other)| {
            (among(one, a) && among(other, b)) || (among(one, b) && among(other, a))
        })
}

/// Whether a word stands in the list at all.
pub(super) fn has_opposite(word: &str) -> bool {
    OPPOSITES
        .iter()
        .any(|(one, other)| among(one, word) || among(other, word))
}

/// Whether `long` is `short` behind a prefix that negates.
fn negates(long: &str, short: &str) -> bool {
    let prefixes = ["un", "in", "im", "dis", "non", "ir", "il"];
    let rest = |prefix: &&str| long.strip_prefix(*prefix);
    prefixes
        .iter()
        .filter_map(rest)
        .any(|rest| rest.len() >= 4 && rest == short)
}

fn among(list: &str, word: &str) -> bool {
    list.split('|').any(|entry| entry == word)
}

#[rustfmt::skip]
const OPPOSITES: &[(&str, &str)] = &[
    ("open|opens|opened|opening", "close|closes|closed|closing|shut"),
    ("increase|increases|increased|rise|rises|rose|rising|grow|grew|grows|up", "decrease|decreases|decreased|fall|falls|fell|falling|decline|declines|declined|shrink|shrank|shrinks|drop|drops|dropped|down"),
    ("allowed|permitted|allow|permit|allows|permits|legal", "forbidden|prohibited|banned|forbid|prohibit|forbids|prohibits|illegal|disallowed"),
    ("before|earlier", "after|later"),
    ("above|over|more|greater|exceeds", "below|under|less|fewer|beneath"),
    ("maximum|most", "minimum|least"),
    ("left", "right"),
    ("north|northern", "south|southern"),
    ("east|eastern", "west|western"),
    ("true|correct|right", "false|incorrect|wrong"),
    ("include|includes|included|including", "exclude|excludes|excluded|excluding"),
    ("accept|accepts|accepted", "reject|rejects|rejected|refuse|refuses|refused"),
    ("enable|enables|enabled|on", "disable|disables|disabled|off"),
    ("required|mandatory|compulsory|obligatory", "optional|voluntary"),
    ("hot|warm", "cold|cool"),
    ("high|higher|highest", "low|lower|lowest"),
    ("fast|faster|quick|quickly", "slow|slower|slowly"),
    ("large|larger|largest|big|bigger|biggest", "small|smaller|smallest"),
    ("long|longer|longest", "short|shorter|shortest"),
    ("old|older|oldest", "young|younger|youngest|new|newer|newest"),
    ("cheap|cheaper|cheapest", "expensive|dearer"),
    ("win|wins|won", "lose|loses|lost"),
    ("buy|buys|bought", "sell|sells|sold"),
    ("free", "paid|charged"),
    ("start|starts|started|begin|begins|began", "end|ends|ended|finish|finishes|finished|stop|stops|stopped"),
    ("first", "last"),
    ("available", "unavailable"),
    ("safe", "dangerous|unsafe|unsafely"),
    ("public", "private"),
    ("internal", "external"),
    ("indoor|indoors|inside", "outdoor|outdoors|outside"),
    ("day|daytime", "night|nighttime"),
    ("pass|passes|passed", "fail|fails|failed"),
    ("arrive|arrives|arrived|arrival", "depart|departs|departed|departure|leave|leaves|left"),
    ("with", "without"),
    ("offline", "online"),
    ("reduce|reduces|reduced|reducing|lower|lowers|lowered", "increase|increases|increased|increasing|raise|raises|raised"),
    ("improve|improves|improved|better|best", "worsen|worsens|worsened|worse|worst"),
    ("strengthen|strengthens|strengthened", "weaken|weakens|weakened"),
    ("approve|approves|approved", "reject|rejects|rejected|refuse|refuses|refused|deny|denies|denied"),
    ("support|supports|supported", "oppose|opposes|opposed"),
    ("add|adds|added", "remove|removes|removed|delete|deletes|deleted"),
    ("present", "absent"),
    ("positive", "negative"),
    ("early", "late"),
    ("full", "empty"),
    ("wet", "dry"),
    ("rich", "poor"),
    ("even", "odd"),
    ("upper", "lower"),
    ("front", "back|rear"),
    ("manual|manually", "automatic|automatically"),
    ("temporary|temporarily", "permanent|permanently"),
    ("domestic", "international|foreign"),
    ("profit|profits", "loss|losses"),
    ("import|imports|imported", "export|exports|exported"),
    ("ascending", "descending"),
    ("horizontal", "vertical"),
    ("guilty", "innocent"),
    ("alive", "dead"),
    ("morning|mornings", "evening|evenings"),
    ("male|man|men|boy|boys", "female|woman|women|girl|girls"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opposites_are_told_in_both_directions() {
        let table = [
            ("open", "closed", true),
            ("available", "unavailable", true),
            ("allowed", "prohibited", true),
            ("before", "after", true),
            ("open", "opened", false),
            ("stand", "understand", false),
            ("", "", false),
        ];
        for (a, b, expected) in table {
            assert_eq!(are_opposite((a, a), (b, b)), expected, "{a} {b}");
            assert_eq!(are_opposite((b, b), (a, a)), expected, "{b} {a}");
        }
    }
}
