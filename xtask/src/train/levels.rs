//! From which probability on a head's verdicts are right often enough.

use lydite::heads::Levels;

/// Probabilities of one set's left-out examples, each with its label.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) predicted: Vec<(f64, bool)>,
}

/// The share of right verdicts that is asked for: what is promised, 0.9, and a margin.
pub(crate) const WANTED: f64 = 0.92;

/// So many verdicts must a group have before its share says anything.
pub(crate) const LEAST: usize = 25;

/// The smallest level of pass and the largest of fail at which the verdicts of each set, in each way of
/// leaving data out, are right as often as wanted.
///
/// A set that reaches it at no level has no say on that side; the second list names it and the side.
/// `ways` holds the groups by the way in which they were left out, the first being that of the figures.
pub(crate) fn choose(ways: &[&[Group]]) -> (Levels, Vec<String>) {
    let groups: Vec<&Group> = ways.iter().copied().flatten().collect();
    let mut unreached = Vec::new();
    let pass = lowest(&groups, |p| p, |label| label, "pass", &mut unreached);
    // A fail is a pass of what is turned round.
    let fail = lowest(&groups, |p| 1.0 - p, |label| !label, "fail", &mut unreached)
        .map(|level| 1.0 - level);
    let shown = ways.iter().find(|groups| !groups.is_empty());
    let all = || {
        shown
            .into_iter()
            .copied()
            .flatten()
            .flat_map(|group| &group.predicted)
    };
    let passes = Side::of(
        all().filter(|(p, _)| pass.is_some_and(|level| *p >= level)),
        true,
    );
    let fails = Side::of(
        all().filter(|(p, _)| fail.is_some_and(|level| *p <= level)),
        false,
    );
    let levels = Levels {
        pass,
        fail,
        accuracy_pass: passes.share(),
        accuracy_fail: fails.share(),
        coverage: (passes.n + fails.n) as f64 / all().count().max(1) as f64,
    };
    (levels, unreached)
}

/// Verdicts of one kind, and how many are right.
struct Side {
    n: usize,
    right: usize,
}

impl Side {
    fn of<'p>(predicted: impl Iterator<Item = &'p (f64, bool)>, said: bool) -> Self {
        let mut side = Self { n: 0, right: 0 };
        for (_, label) in predicted {
            side.n += 1;
            side.right += usize::from(*label == said);
        }
        side
    }

    fn share(&self) -> Option<f64> {
        (self.n > 0).then(|| self.right as f64 / self.n as f64)
    }

    fn good(&self) -> bool {
        self.right as f64 >= WANTED * self.n as f64
    }
}

/// The lowest level of at least one half from which on all groups that can be right often enough are.
fn lowest(
    groups: &[&Group],
    turn: impl Fn(f64) -> f64,
    is_right: impl Fn(bool) -> bool,
    side: &str,
    unreached: &mut Vec<String>,
) -> Option<f64> {
    let turned: Vec<(&str, Vec<(f64, bool)>)> = groups
        .iter()
        .map(|group| {
            let predicted = group.predicted.iter();
            let predicted = predicted.map(|(p, label)| (turn(*p), is_right(*label)));
            (group.name.as_str(), predicted.collect())
        })
        .collect();
    let able: Vec<&[(f64, bool)]> = turned
        .iter()
        .filter(|(name, predicted)| {
            let able = candidates().any(|level| {
                let side = at(predicted, level);
                side.n >= LEAST && side.good()
            });
            if !able {
                unreached.push(format!("{name}: {side}"));
            }
            able
        })
        .map(|(_, predicted)| predicted.as_slice())
        .collect();
    let all: Vec<(f64, bool)> = able.iter().copied().flatten().copied().collect();
    candidates().find(|level| {
        let good = |predicted: &[(f64, bool)]| {
            let side = at(predicted, *level);
            side.n < LEAST || side.good()
        };
        let total = at(&all, *level);
        total.n >= LEAST && total.good() && able.iter().all(|group| good(group))
    })
}

/// The levels that may be chosen, ascending.
fn candidates() -> impl Iterator<Item = f64> {
    (501..1000).map(|level| f64::from(level) / 1000.0)
}

fn at(predicted: &[(f64, bool)], level: f64) -> Side {
    Side::of(predicted.iter().filter(|(p, _)| *p >= level), true)
}
