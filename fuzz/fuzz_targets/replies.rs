//! A judge's reply: what is read of it lies in what was asked, and thinking changes nothing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lydite::judge::read::{self, Misread, Read};
use lydite::judge::{Label, Labels, Scale};
use lydite::model::{TokenAlternative, TokenLogprob};
use serde_json::Value;

const ITEMS: usize = 3;

fuzz_target!(|reply: &str| {
    let sets = [
        Labels::yes_no(),
        Labels::correct(),
        Labels::new(
            ["A", "B", "not_found"]
                .map(|name| Label::new(name, &[]))
                .into(),
        ),
    ];
    for labels in &sets {
        let verdict = read::verdict(reply, labels);
        if let Ok(read) = &verdict {
            assert!(read.value < labels.len());
        }
        assert_eq!(verdict, read::verdict(&thought(reply), labels));
        if let Ok(read) = read::items(reply, ITEMS, labels) {
            assert_eq!(read.value.len(), ITEMS);
        }
        let _ = read::label(&Value::from(reply), labels);
    }
    for scale in [Scale::whole(1, 5), Scale::real(0.0, 1.0)] {
        let typed = read::number(&Value::from(reply), &scale);
        for read in [read::rating(reply, &scale), typed].into_iter().flatten() {
            assert!(scale.holds(read.value), "{}", read.value);
        }
    }
    values(reply);
    weights(reply, &sets[0]);
});

/// The reply behind a thought. A lone closing tag in it ends the thought as well.
fn thought(reply: &str) -> String {
    format!("<think>{{\"verdict\": \"Y\"}}\nScore: 1</think>{reply}")
}

fn values(reply: &str) {
    let fits = |value: &Value| -> Result<Read<Value>, Misread> {
        Ok(Read {
            value: value.clone(),
            flags: 0,
        })
    };
    if let Ok(read) = read::json(reply, &fits) {
        let again = read::json(&read.value.to_string(), &fits);
        assert_eq!(again.map(|again| again.value), Ok(read.value));
    }
}

/// The reply's characters as tokens, each as likely as the one before it.
fn weights(reply: &str, labels: &Labels) {
    let mut before = String::new();
    let tokens: Vec<_> = reply
        .chars()
        .map(|c| {
            let token = c.to_string();
            let top = [&token, &before].map(|text| TokenAlternative {
                token: text.clone(),
                logprob: -1.0,
            });
            before.clone_from(&token);
            TokenLogprob {
                token,
                logprob: -1.0,
                top: top.into(),
            }
        })
        .collect();
    let scale = Scale::whole(0, 10);
    for start in 0..reply.len().min(8) {
        if let Some(expected) = read::expected_rating(&tokens, start, &scale) {
            assert!(expected.mass > 0.0 && expected.mass <= 1.0, "{expected:?}");
            assert!((0.0..=10.0).contains(&expected.mean), "{expected:?}");
        }
        if let Some((shares, mass)) = read::label_shares(&tokens, start, labels) {
            assert!(mass > 0.0 && mass <= 1.0, "{mass}");
            assert!(
                (shares.iter().sum::<f64>() - 1.0).abs() < 1e-9,
                "{shares:?}"
            );
        }
    }
}
