//! Who does what to whom: two names that changed places.

use super::coverage::Statement;
use super::sources::Sentence;
use super::words::Token;

/// Two names that stand on the other sides of the same verb in the closest sentence, as the words of the statement that
/// name them.
pub(super) fn swapped<'t>(
    statement: &Statement<'t>,
    best: &Sentence<'_>,
) -> Option<(&'t str, &'t str)> {
    let said = relations(&statement.tokens);
    let stands = relations(&best.tokens);
    said.iter()
        .find(|a| stands.iter().any(|b| a.turns_round(b)))
        .map(|relation| (relation.left.text, relation.right.text))
}

/// Two names with some words between them.
struct Relation<'s, 't> {
    left: &'s Token<'t>,
    right: &'s Token<'t>,
    between: &'s [Token<'t>],
}

impl Relation<'_, '_> {
    fn turns_round(&self, other: &Relation<'_, '_>) -> bool {
        self.left.stem == other.right.stem
            && self.right.stem == other.left.stem
            && self.left.stem != self.right.stem
            && self.is_passive() == other.is_passive()
            && self.verbs().any(|verb| other.verbs().any(|o| o == verb))
    }

    fn verbs(&self) -> impl Iterator<Item = u64> {
        let words = self.between.iter();
        words
            .filter(|token| token.is_content())
            .map(|token| token.stem)
    }

    fn is_passive(&self) -> bool {
        self.between.iter().any(|token| token.is("by"))
    }

    /// Too far apart, or side by side: the order tells nothing.
    fn is_loose(&self) -> bool {
        self.between.len() > FAR || self.between.iter().any(|token| token.is_one_of(&JOINING))
    }
}

const FAR: usize = 7;

const JOINING: [&str; 6] = [",", ";", ":", "and", "or", "with"];

/// Each two names that follow each other, of a longer name its last word.
fn relations<'s, 't>(tokens: &'s [Token<'t>]) -> Vec<Relation<'s, 't>> {
    let mut names: Vec<(usize, usize)> = Vec::new();
    for (at, _) in tokens
        .iter()
        .enumerate()
        .filter(|(_, token)| token.is_name_like())
    {
        match names.last_mut() {
            Some((_, last)) if *last + 1 == at => *last = at,
            _ => names.push((at, at)),
        }
    }
    let next = names.iter().skip(1);
    let relation = |((_, left), (first, right)): (&(usize, usize), &(usize, usize))| {
        Some(Relation {
            left: tokens.get(*left)?,
            right: tokens.get(*right)?,
            between: tokens.get(left + 1..*first)?,
        })
    };
    let relations = names.iter().zip(next).filter_map(relation);
    relations.filter(|relation| !relation.is_loose()).collect()
}
