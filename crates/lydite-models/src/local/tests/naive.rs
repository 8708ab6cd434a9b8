//! What the embedder computes, by definition: one number after the other, in 64 bits.

use std::collections::BTreeMap;

use unicode_normalization::UnicodeNormalization;

use super::tiny::{BEGIN, END, Tiny, UNKNOWN};

type Matrix = Vec<Vec<f64>>;

/// The mean of the pieces' vectors, of length 1.
pub(super) fn embed(tiny: &Tiny, text: &str) -> Vec<f64> {
    let rows = forward(tiny, &pieces(tiny, text));
    let mean = (0..tiny.hidden)
        .map(|column| rows.iter().map(|row| row[column]).sum::<f64>() / rows.len() as f64);
    unit(mean.collect())
}

/// The vectors of length 1 of the pieces, without the first and the last.
pub(super) fn tokens(tiny: &Tiny, text: &str) -> Matrix {
    let rows = forward(tiny, &pieces(tiny, text));
    let count = rows.len() - 2;
    rows.into_iter().skip(1).take(count).map(unit).collect()
}

/// WordPiece: lower case, no accents, marks on their own, then the longest piece first.
fn pieces(tiny: &Tiny, text: &str) -> Vec<usize> {
    let all = Tiny::pieces();
    let find = |piece: &str| all.iter().position(|known| known == piece);
    let text: String = text
        .nfd()
        .filter(|c| !('\u{300}'..='\u{36f}').contains(c))
        .collect();
    let text = text.replace("[SEP]", "\u{1}").to_lowercase();
    let spaced: String = text
        .chars()
        .flat_map(|c| {
            if c.is_ascii_punctuation() || c == '\u{1}' {
                vec![' ', c, ' ']
            } else {
                vec![c]
            }
        })
        .collect();
    let mut ids = vec![BEGIN];
    for word in spaced.split_whitespace() {
        let own = if word == "\u{1}" {
            Some(vec![END])
        } else {
            cut(word, &find)
        };
        ids.extend(own.unwrap_or_else(|| vec![UNKNOWN]));
    }
    ids.truncate(tiny.positions - 1);
    ids.push(END);
    ids
}

fn cut(word: &str, find: &impl Fn(&str) -> Option<usize>) -> Option<Vec<usize>> {
    let (mut rest, mut ids) = (word, Vec::new());
    while !rest.is_empty() {
        let mark = if ids.is_empty() { "" } else { "##" };
        let ends = rest
            .char_indices()
            .map(|(at, c)| at + c.len_utf8())
            .collect::<Vec<_>>();
        let (end, id) = ends
            .into_iter()
            .rev()
            .find_map(|end| Some((end, find(&format!("{mark}{}", &rest[..end]))?)))?;
        ids.push(id);
        rest = &rest[end..];
    }
    Some(ids)
}

struct Tensors(BTreeMap<String, (Vec<usize>, Vec<f32>)>);

impl Tensors {
    fn matrix(&self, name: &str) -> Matrix {
        let (shape, numbers) = &self.0[name];
        let rows = numbers.chunks(*shape.last().unwrap());
        rows.map(|row| row.iter().map(|number| f64::from(*number)).collect())
            .collect()
    }

    fn linear(&self, row: &[f64], name: &str) -> Vec<f64> {
        let bias = self.matrix(&format!("{name}.bias")).remove(0);
        let weights = self.matrix(&format!("{name}.weight"));
        weights
            .iter()
            .zip(bias)
            .map(|(weights, bias)| dot(row, weights) + bias)
            .collect()
    }

    fn normalize(&self, row: &[f64], name: &str) -> Vec<f64> {
        let count = row.len() as f64;
        let mean = row.iter().sum::<f64>() / count;
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
        let gain = self.matrix(&format!("{name}.weight")).remove(0);
        let shift = self.matrix(&format!("{name}.bias")).remove(0);
        let scaled = row
            .iter()
            .zip(gain)
            .map(|(x, gain)| (x - mean) / (variance + 1e-12).sqrt() * gain);
        scaled.zip(shift).map(|(x, shift)| x + shift).collect()
    }
}

fn forward(tiny: &Tiny, ids: &[usize]) -> Matrix {
    let tensors = Tensors(tiny.tensors());
    let words = tensors.matrix("embeddings.word_embeddings.weight");
    let places = tensors.matrix("embeddings.position_embeddings.weight");
    let segment = tensors
        .matrix("embeddings.token_type_embeddings.weight")
        .remove(0);
    let looked_up = ids
        .iter()
        .zip(&places)
        .map(|(id, place)| sum(&sum(&words[*id], place), &segment));
    let mut rows: Matrix = looked_up
        .map(|row| tensors.normalize(&row, "embeddings.LayerNorm"))
        .collect();
    for layer in 0..tiny.layers {
        let name = |part: &str| format!("encoder.layer.{layer}.{part}");
        let attended = attend(tiny, &tensors, &rows, &name("attention.self"));
        for (row, attended) in rows.iter_mut().zip(attended) {
            let mixed = tensors.linear(&attended, &name("attention.output.dense"));
            *row = tensors.normalize(&sum(row, &mixed), &name("attention.output.LayerNorm"));
            let inner = tensors.linear(row, &name("intermediate.dense"));
            let inner: Vec<f64> = inner.into_iter().map(gelu).collect();
            let down = tensors.linear(&inner, &name("output.dense"));
            *row = tensors.normalize(&sum(row, &down), &name("output.LayerNorm"));
        }
    }
    rows
}

fn attend(tiny: &Tiny, tensors: &Tensors, rows: &Matrix, name: &str) -> Matrix {
    let head = tiny.hidden / tiny.heads;
    let all = |part: &str| -> Matrix {
        rows.iter()
            .map(|row| tensors.linear(row, &format!("{name}.{part}")))
            .collect()
    };
    let (queries, keys, values) = (all("query"), all("key"), all("value"));
    let mut out = vec![vec![0.0; tiny.hidden]; rows.len()];
    for begin in (0..tiny.hidden).step_by(head) {
        let columns = begin..begin + head;
        for (query, out) in queries.iter().zip(&mut out) {
            let score = |key: &Vec<f64>| {
                dot(&query[columns.clone()], &key[columns.clone()]) / (head as f64).sqrt()
            };
            let scores: Vec<f64> = keys.iter().map(|key| score(key).exp()).collect();
            let total: f64 = scores.iter().sum();
            for (score, value) in scores.iter().zip(&values) {
                for column in columns.clone() {
                    out[column] += score / total * value[column];
                }
            }
        }
    }
    out
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

fn sum(x: &[f64], y: &[f64]) -> Vec<f64> {
    x.iter().zip(y).map(|(x, y)| x + y).collect()
}

fn unit(row: Vec<f64>) -> Vec<f64> {
    let length = dot(&row, &row).sqrt();
    row.into_iter().map(|x| x / length).collect()
}

/// x·Φ(x), the integral of the normal density by Simpson's rule.
fn gelu(x: f64) -> f64 {
    const STEPS: u32 = 400;
    let density = |y: f64| (-0.5 * y * y).exp() / std::f64::consts::TAU.sqrt();
    let step = x / f64::from(STEPS);
    let weighted = (0..=STEPS).map(|index| {
        let weight = if index == 0 || index == STEPS {
            1.0
        } else if index % 2 == 1 {
            4.0
        } else {
            2.0
        };
        weight * density(step * f64::from(index))
    });
    x * (0.5 + step / 3.0 * weighted.sum::<f64>())
}
