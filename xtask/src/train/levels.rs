//! From which probability on a head's verdicts are right often enough.

use lydite::heads::Levels;

/// Probabilities of one set's left-out examples, each with its label.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) predicted: Vec<(f64, bool)>,
}

/// The share of right verdicts that is promised, and asked for where a whole set was left out.
pub(crate) const PROMISED: f64 = 0.9;

/// The share that is asked for of other examples of the sets that were fitted on: a margin above it.
pub(crate) const WANTED: f64 = 0.92;

/// One way of leaving data out: the sets, and the share of right verdicts that is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way<'g> {
    pub(crate) groups: &'g [Group],
    pub(crate) wanted: f64,
}

/// So many verdicts must a group have before its share says anything.
pub(crate) const LEAST: usize = 25;

/// The lowest level of pass and the highest of fail at which the verdicts of each set, in each way of leaving
/// data out, are right as often as wanted.
///
/// A set that reaches it at no level has no say on that side; the second list names it and the side. The
/// figures of the levels are those of the first way.
pub(crate) fn choose(ways: &[Way<'_>]) -> (Levels, Vec<String>) {
    let mut unreached = Vec::new();
    let pass = lowest(&sides(ways, true), "pass", &mut unreached);
    let fail = lowest(&sides(ways, false), "fail", &mut unreached).map(|level| 1.0 - level);
    let first = ways.first().map_or(&[][..], |way| way.groups);
    (of(pass, fail, first), unreached)
}

/// The same levels with fail no higher than `highest`, and the figures of that on `groups`.
pub(crate) fn with_fail_at_most(levels: Levels, highest: f64, groups: &[Group]) -> Levels {
    of(
        levels.pass,
        levels.fail.map(|fail| fail.min(highest)),
        groups,
    )
}

/// Levels with their figures on left-out examples.
fn of(pass: Option<f64>, fail: Option<f64>, groups: &[Group]) -> Levels {
    let all = || groups.iter().flat_map(|group| &group.predicted);
    let passed = all().filter(|(p, _)| pass.is_some_and(|level| *p >= level));
    let failed = all().filter(|(p, _)| fail.is_some_and(|level| *p <= level));
    let passed = Count::of(passed.map(|(_, label)| *label));
    let failed = Count::of(failed.map(|(_, label)| !*label));
    Levels {
        pass,
        fail,
        accuracy_pass: passed.share(),
        accuracy_fail: failed.share(),
        coverage: (passed.n + failed.n) as f64 / all().count().max(1) as f64,
    }
}

/// Verdicts of one kind, and how many are right.
struct Count {
    n: usize,
    right: usize,
}

impl Count {
    fn of(right: impl Iterator<Item = bool>) -> Self {
        let mut count = Self { n: 0, right: 0 };
        for right in right {
            count.n += 1;
            count.right += usize::from(right);
        }
        count
    }

    fn share(&self) -> Option<f64> {
        (self.n > 0).then(|| self.right as f64 / self.n as f64)
    }
}

/// A set on one side: the confidence in that side's verdict, and whether it would be right.
struct Side {
    name: String,
    wanted: f64,
    confident: Vec<(f64, bool)>,
}

impl Side {
    fn at(&self, level: f64) -> Count {
        let given = self.confident.iter().filter(|(p, _)| *p >= level);
        Count::of(given.map(|(_, right)| *right))
    }

    /// True where enough verdicts are right, false where too few, `None` where there are too few to say.
    fn is_good(&self, level: f64) -> Option<bool> {
        let count = self.at(level);
        (count.n >= LEAST).then(|| count.right as f64 >= self.wanted * count.n as f64)
    }

    fn reaches_it(&self) -> bool {
        candidates().any(|level| self.is_good(level) == Some(true))
    }
}

/// The sets of all ways on the side of pass, or of fail, where probabilities are turned round.
fn sides(ways: &[Way<'_>], pass: bool) -> Vec<Side> {
    let turn = |(p, label): &(f64, bool)| {
        if pass {
            (*p, *label)
        } else {
            (1.0 - p, !*label)
        }
    };
    ways.iter()
        .flat_map(|way| way.groups.iter().map(|group| (way.wanted, group)))
        .map(|(wanted, group)| Side {
            name: group.name.clone(),
            wanted,
            confident: group.predicted.iter().map(turn).collect(),
        })
        .collect()
}

/// The lowest level at which no set that can reach its share falls short, and at least one does reach it.
fn lowest(sides: &[Side], name: &str, unreached: &mut Vec<String>) -> Option<f64> {
    let (able, unable): (Vec<&Side>, Vec<&Side>) = sides.iter().partition(|side| side.reaches_it());
    for side in unable {
        let line = format!("{}: {name}", side.name);
        if !unreached.contains(&line) {
            unreached.push(line);
        }
    }
    candidates().find(|level| {
        let mut good = able.iter().map(|side| side.is_good(*level));
        let any = able.iter().any(|side| side.is_good(*level) == Some(true));
        any && good.all(|good| good != Some(false))
    })
}

/// The levels that may be chosen, ascending.
fn candidates() -> impl Iterator<Item = f64> {
    (501..1000).map(|level| f64::from(level) / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bands of a probability, how many examples are in it and how many of them are yes.
    fn group(name: &str, bands: &[(f64, usize, usize)]) -> Group {
        let band = |(p, n, yes): &(f64, usize, usize)| {
            let (p, yes) = (*p, *yes);
            (0..*n).map(move |i| (p, i < yes))
        };
        Group {
            name: name.to_owned(),
            predicted: bands.iter().flat_map(band).collect(),
        }
    }

    fn choose(ways: &[&[Group]]) -> (Levels, Vec<String>) {
        let ways: Vec<Way<'_>> = ways
            .iter()
            .map(|groups| Way {
                groups,
                wanted: WANTED,
            })
            .collect();
        super::choose(&ways)
    }

    #[test]
    fn the_level_is_the_lowest_at_which_enough_are_right() {
        // From 0.7 on 95 of 100 are right, from 0.6 on 145 of 200.
        let one = group(
            "one",
            &[(0.9, 50, 49), (0.7, 50, 46), (0.6, 100, 50), (0.1, 50, 2)],
        );
        let (levels, unreached) = choose(&[&[one]]);
        assert_eq!((levels.pass, levels.fail), (Some(0.601), Some(1.0 - 0.501)));
        assert_eq!(levels.accuracy_pass, Some(0.95));
        assert_eq!(levels.accuracy_fail, Some(0.96));
        assert_eq!(levels.coverage, 150.0 / 250.0);
        assert!(unreached.is_empty());
    }

    #[test]
    fn the_worst_set_decides() {
        let good = group("good", &[(0.6, 100, 100), (0.1, 50, 0)]);
        let bad = group("bad", &[(0.9, 30, 30), (0.6, 30, 10), (0.1, 50, 0)]);
        let alone = choose(&[std::slice::from_ref(&good)]).0;
        let both = choose(&[&[good.clone(), bad.clone()]]).0;
        assert_eq!((alone.pass, both.pass), (Some(0.501), Some(0.601)));
        // Another way of leaving data out counts as well, but not in the figures.
        let ways = choose(&[&[good], &[bad]]).0;
        assert_eq!((ways.pass, ways.coverage), (Some(0.601), 50.0 / 150.0));
    }

    #[test]
    fn a_set_that_never_reaches_it_has_no_say_and_is_named() {
        let good = group("good", &[(0.6, 100, 100), (0.1, 50, 0)]);
        let chance = group("chance", &[(0.9, 100, 50), (0.1, 100, 50)]);
        let (levels, unreached) = choose(&[&[good, chance]]);
        assert_eq!(levels.pass, Some(0.501));
        assert_eq!(unreached, ["chance: pass", "chance: fail"]);
    }

    #[test]
    fn each_way_asks_for_its_own_share() {
        let one = [group("one", &[(0.6, 100, 91), (0.1, 50, 0)])];
        for (wanted, expected) in [(PROMISED, Some(0.501)), (WANTED, None)] {
            let way = Way {
                groups: &one,
                wanted,
            };
            assert_eq!(super::choose(&[way]).0.pass, expected);
        }
    }

    #[test]
    fn few_examples_say_nothing() {
        let few = group("few", &[(0.9, LEAST - 1, LEAST - 1), (0.1, LEAST, 0)]);
        let (levels, unreached) = choose(&[&[few]]);
        assert_eq!((levels.pass, levels.accuracy_pass), (None, None));
        assert!(levels.fail.is_some());
        assert_eq!(unreached, ["few: pass"]);
    }
}
