//! The file of a head and its model card in the repository.

use super::card;
use super::task::Task;
use crate::workspace;
use anyhow::{Context as _, Result, bail};
use lydite::heads::File;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// How far numbers of two fits may be apart, beside the larger of 1 and their size.
const TOLERANCE: f64 = 1e-6;

/// Rounds all numbers of a file to seven significant digits.
pub(crate) fn round(file: &mut File) -> Result<()> {
    let mut value = serde_json::to_value(&*file)?;
    round_value(&mut value);
    *file = serde_json::from_value(value)?;
    Ok(())
}

pub(crate) fn write(task: &dyn Task, file: &File) -> Result<()> {
    for (path, text) in [
        (head_path(&file.id), text(file)?),
        (card_path(&file.id), card::text(task, file)),
    ] {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        println!("wrote {}", path.display());
    }
    Ok(())
}

/// Compares with the committed file; an error that names the first difference.
pub(crate) fn check(file: &File) -> Result<()> {
    let path = head_path(&file.id);
    let committed =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let committed: Value = serde_json::from_str(&committed)?;
    match difference(&committed, &serde_json::to_value(file)?, "") {
        None => {
            println!("{} is what the fit gives", path.display());
            Ok(())
        }
        Some(difference) => bail!("{} is not what the fit gives: {difference}", path.display()),
    }
}

fn head_path(id: &str) -> PathBuf {
    workspace::root().join(format!("crates/lydite/src/heads/data/{id}.json"))
}

fn card_path(id: &str) -> PathBuf {
    workspace::root().join(format!("docs/heads/{id}.md"))
}

fn text(file: &File) -> Result<String> {
    Ok(serde_json::to_string_pretty(file)? + "\n")
}

/// The first place where two values differ by more than rounding, and how.
fn difference(committed: &Value, fitted: &Value, place: &str) -> Option<String> {
    match (committed, fitted) {
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64()?, b.as_f64()?);
            let apart = (a - b).abs() > TOLERANCE * a.abs().max(b.abs()).max(1.0);
            apart.then(|| format!("{place} is {a}, and {b} when fitted"))
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => (0..)
            .zip(a.iter().zip(b))
            .find_map(|(index, (a, b))| difference(a, b, &format!("{place}/{index}"))),
        (Value::Object(a), Value::Object(b)) if a.len() == b.len() => {
            a.iter().find_map(|(key, a)| {
                difference(
                    a,
                    b.get(key).unwrap_or(&Value::Null),
                    &format!("{place}/{key}"),
                )
            })
        }
        _ => (committed != fitted).then(|| format!("{place} differs")),
    }
}

fn round_value(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            let rounded = number
                .as_f64()
                .and_then(|x| format!("{x:.6e}").parse::<f64>().ok());
            if let Some(rounded) = rounded {
                *value = rounded.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(round_value),
        Value::Object(fields) => fields.values_mut().for_each(round_value),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_may_differ_by_rounding_alone() {
        for (a, b, place) in [
            (
                json!({"x": [1.0, 2.0]}),
                json!({"x": [1.0, 2.000_000_1]}),
                None,
            ),
            (
                json!({"x": [1.0, 2.0]}),
                json!({"x": [1.0, 2.001]}),
                Some("/x/1"),
            ),
            (json!({"x": 1}), json!({"y": 1}), Some("/x")),
            (json!([1]), json!([1, 2]), Some("")),
            (json!({"x": "a"}), json!({"x": "b"}), Some("/x")),
        ] {
            let found = difference(&a, &b, "");
            match place {
                None => assert_eq!(found, None),
                Some(place) => assert!(found.unwrap().starts_with(place), "{a} {b}"),
            }
        }
    }

    #[test]
    fn numbers_are_rounded_to_seven_digits_wherever_they_are() {
        let mut value =
            json!({"a": [0.123_456_789, 1e-9, 12_345_678.9], "n": 3, "t": "0.123456789"});
        round_value(&mut value);
        assert_eq!(
            value,
            json!({"a": [0.123_456_8, 1e-9, 12_345_680.0], "n": 3, "t": "0.123456789"})
        );
    }
}
