//! Classifiers of the user's own, against what `transformers` says of the same weights (`tests/classify/make.py`), and
//! against files that are broken in every way that we thought of.
#![cfg_attr(
    not(all(feature = "candle", feature = "onnx")),
    allow(
        dead_code,
        unused_imports,
        reason = "what is left tests what is not built in"
    )
)]
#![allow(
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may fail by panicking"
)]

use std::path::{Path, PathBuf};

use lydite_models::local::classify::{Classifier, ClassifierError, ClassifierFiles, Runtime};
use serde_json::Value;

/// Differences of rounding alone: all sums are of some dozen numbers of 32 bits.
const TOLERANCE: f32 = 2e-5;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/classify")
        .join(name)
}

fn load(path: &Path, runtime: Runtime) -> Result<Classifier, ClassifierError> {
    let path = path.to_owned();
    Classifier::load(&ClassifierFiles { path, runtime })
}

/// A text or pair, and its probabilities.
type Expected = (String, Option<String>, Vec<f32>);

fn expected(folder: &Path) -> Vec<Expected> {
    let text = std::fs::read_to_string(folder.join("expected.json")).unwrap();
    let said: Vec<Value> = serde_json::from_str(&text).unwrap();
    let read = |case: &Value| {
        let probabilities = case["probabilities"].as_array().unwrap();
        (
            case["text"].as_str().unwrap().to_owned(),
            case["pair"].as_str().map(str::to_owned),
            probabilities
                .iter()
                .map(|p| p.as_f64().unwrap() as f32)
                .collect(),
        )
    };
    said.iter().map(read).collect()
}

fn asked(expected: &[Expected]) -> Vec<(&str, Option<&str>)> {
    let texts = expected.iter();
    texts
        .map(|(text, pair, _)| (text.as_str(), pair.as_deref()))
        .collect()
}

fn assert_close(got: &[f32], expected: &[f32], what: &str) {
    let close = got
        .iter()
        .zip(expected)
        .all(|(got, expected)| (got - expected).abs() < TOLERANCE);
    assert!(
        got.len() == expected.len() && close,
        "{what}: {got:?}, expected {expected:?}"
    );
}

/// All texts in one call, then each alone.
fn agrees(name: &str, runtime: Runtime) {
    let folder = fixture(name);
    let classifier = load(&folder, runtime).unwrap();
    let expected = expected(&folder);
    let texts = asked(&expected);
    let together = classifier.classify(&texts).unwrap();
    assert_eq!(together.len(), texts.len());
    for (index, (_, _, expected)) in expected.iter().enumerate() {
        let what = format!("{name}, {:?}", texts[index]);
        assert_close(&together[index], expected, &what);
        let alone = classifier.classify(&texts[index..=index]).unwrap();
        assert_close(&alone[0], expected, &format!("{what} alone"));
    }
}

/// A copy of a folder that a test may break.
fn copy(name: &str) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for entry in fixture(name).read_dir().unwrap() {
        let entry = entry.unwrap();
        if entry.path().is_file() {
            std::fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
        }
    }
    copy
}

fn edit(folder: &Path, file: &str, edit: impl FnOnce(&mut Value)) {
    let path = folder.join(file);
    let mut json: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    edit(&mut json);
    std::fs::write(path, json.to_string()).unwrap();
}

#[test]
fn what_is_missing_is_named() {
    let empty = tempfile::tempdir().unwrap();
    let error = |path: &Path| load(path, Runtime::Auto).unwrap_err().to_string();
    assert!(error(&empty.path().join("gone")).contains("this is no folder"));
    assert!(error(empty.path()).contains("there is no model.safetensors"));
    for file in ["config.json", "tokenizer.json"] {
        let folder = copy("bert");
        std::fs::remove_file(folder.path().join(file)).unwrap();
        assert!(
            error(folder.path()).contains(&format!("there is no {file}")),
            "{file}"
        );
    }
    let only_onnx = load(&fixture("onnx"), Runtime::Candle)
        .unwrap_err()
        .to_string();
    assert!(
        only_onnx.contains("there is no model.safetensors"),
        "{only_onnx}"
    );
}

#[cfg(not(feature = "candle"))]
#[test]
fn candle_that_is_not_built_in_is_named() {
    let error = load(&fixture("bert"), Runtime::Auto).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("cargo install lydite-cli --features candle"),
        "{error}"
    );
}

#[cfg(not(feature = "onnx"))]
#[test]
fn onnx_that_is_not_built_in_is_named() {
    let error = load(&fixture("onnx"), Runtime::Auto).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("cargo install lydite-cli --features onnx"),
        "{error}"
    );
}

#[cfg(feature = "candle")]
mod candle {
    use std::collections::HashMap;
    use std::sync::Arc;

    use candle_core::{DType, Device, Tensor};
    use lydite::model::{ModelErrorKind, ModelHost, ModelSession, ModelSpec, SessionOptions};
    use lydite_models::Host;
    use serde_json::json;

    use super::*;

    const ALL: [&str; 8] = [
        "bert",
        "distilbert",
        "roberta",
        "xlm-roberta",
        "deberta-v2",
        "deberta-v3",
        "modernbert",
        "modernbert-mean",
    ];

    #[test]
    fn probabilities_are_those_of_transformers() {
        for name in ALL {
            agrees(name, Runtime::Candle);
        }
    }

    #[test]
    fn labels_are_those_of_the_configuration() {
        let cases: [(&str, &[&str]); 4] = [
            ("bert", &["contradiction", "entailment", "neutral"]),
            ("distilbert", &["LABEL_0", "LABEL_1"]),
            ("roberta", &["insult", "threat", "slur"]),
            ("xlm-roberta", &["supported"]),
        ];
        for (name, labels) in cases {
            let classifier = load(&fixture(name), Runtime::Auto).unwrap();
            assert_eq!(classifier.labels(), labels, "{name}");
        }
    }

    #[test]
    fn older_configurations_mean_the_same() {
        let rope = |config: &mut Value| {
            let config = config.as_object_mut().unwrap();
            config.remove("rope_parameters");
            config.remove("layer_types");
            config.insert("global_rope_theta".into(), json!(160_000.0));
            config.insert("local_rope_theta".into(), json!(10_000.0));
        };
        let kinds = |config: &mut Value| config["pos_att_type"] = json!("p2c|c2p");
        let old: [(&str, &dyn Fn(&mut Value)); 2] = [("modernbert", &rope), ("deberta-v3", &kinds)];
        for (name, change) in old {
            let folder = copy(name);
            edit(folder.path(), "config.json", change);
            let classifier = load(folder.path(), Runtime::Auto).unwrap();
            let expected = expected(folder.path());
            let got = classifier.classify(&asked(&expected)).unwrap();
            for (got, (text, _, expected)) in got.iter().zip(&expected) {
                assert_close(got, expected, &format!("{name}, {text}"));
            }
        }
    }

    #[test]
    fn norms_of_old_checkpoints_are_known() {
        let folder = copy("bert");
        rewrite(folder.path(), |name, tensor| {
            let name = name.replace("LayerNorm.weight", "LayerNorm.gamma");
            Some((name.replace("LayerNorm.bias", "LayerNorm.beta"), tensor))
        });
        let expected = expected(folder.path());
        let classifier = load(folder.path(), Runtime::Auto).unwrap();
        let got = classifier.classify(&asked(&expected)).unwrap();
        assert_close(&got[0], &expected[0].2, "gamma and beta");
    }

    #[test]
    fn long_texts_that_need_several_batches_keep_their_order() {
        let classifier = load(&fixture("bert"), Runtime::Auto).unwrap();
        let expected = expected(&fixture("bert"));
        let texts = asked(&expected);
        let many: Vec<_> = texts
            .iter()
            .copied()
            .cycle()
            .take(texts.len() * 20)
            .collect();
        let got = classifier.classify(&many).unwrap();
        for (got, (text, _, expected)) in got.iter().zip(expected.iter().cycle()) {
            assert_close(got, expected, text);
        }
        assert_eq!(classifier.classify(&[]).unwrap(), Vec::<Vec<f32>>::new());
    }

    #[test]
    fn threads_share_a_classifier() {
        let classifier = load(&fixture("deberta-v3"), Runtime::Auto).unwrap();
        let expected = expected(&fixture("deberta-v3"));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let got = classifier.classify(&asked(&expected)).unwrap();
                    assert_close(&got[3], &expected[3].2, "a thread");
                });
            }
        });
    }

    #[test]
    fn the_hypothesis_is_never_cut() {
        let classifier = load(&fixture("bert"), Runtime::Auto).unwrap();
        let long = "the bridge is long ".repeat(30);
        let error = classifier.classify(&[("a", Some("b")), ("the river", Some(&long))]);
        let error = error.unwrap_err();
        assert!(
            matches!(
                error,
                ClassifierError::TooLong {
                    index: 1,
                    limit: 48
                }
            ),
            "{error}"
        );
        // A longer premise changes nothing once it is cut.
        let premise = [
            ("no cat".to_owned() + &long),
            ("no cat".to_owned() + &long + &long),
        ];
        let pairs: Vec<_> = premise
            .iter()
            .map(|text| (text.as_str(), Some("the cat sat")))
            .collect();
        let got = classifier.classify(&pairs).unwrap();
        assert_eq!(got[0], got[1]);
        // But the hypothesis does, to its last word.
        let other = classifier
            .classify(&[(&premise[0], Some("the cat mat"))])
            .unwrap();
        assert_ne!(got[0], other[0]);
    }

    #[test]
    fn texts_of_training_were_shorter_by_the_tokenizers_word() {
        let folder = copy("bert");
        let set = |length: f64| {
            let text = json!({"model_max_length": length}).to_string();
            std::fs::write(folder.path().join("tokenizer_config.json"), text).unwrap();
            load(folder.path(), Runtime::Auto).unwrap()
        };
        let long = "the bridge is long and new ".repeat(3);
        let texts = [("the river", Some(long.as_str()))];
        assert!(matches!(
            set(20.0).classify(&texts),
            Err(ClassifierError::TooLong {
                index: 0,
                limit: 20
            })
        ));
        let unset = set(1e30);
        assert!(
            unset
                .classify(&[("the river", Some("the bridge is long"))])
                .is_ok()
        );
    }

    #[test]
    fn the_identity_is_that_of_the_content() {
        let identity = |folder: &Path| load(folder, Runtime::Auto).unwrap().identity().to_owned();
        let original = identity(&fixture("bert"));
        assert!(original.starts_with("candle/bert@"), "{original}");
        assert_eq!(identity(copy("bert").path()), original);

        let weights = copy("bert");
        rewrite(weights.path(), |name, tensor| {
            let tensor = if name == "classifier.bias" {
                (tensor + 0.01).unwrap()
            } else {
                tensor
            };
            Some((name, tensor))
        });
        let config = copy("bert");
        edit(config.path(), "config.json", |config| {
            config["layer_norm_eps"] = json!(1e-5);
        });
        let tokenizer = copy("bert");
        edit(tokenizer.path(), "tokenizer.json", |tokenizer| {
            tokenizer["normalizer"]["lowercase"] = json!(false);
        });
        for other in [&weights, &config, &tokenizer] {
            assert_ne!(identity(other.path()), original);
        }
    }

    /// What is wrong with `config.json`, and what the error says of it.
    #[test]
    fn wrong_configurations_are_explained() {
        let cases: [(&str, &str, Value, &str); 16] = [
            ("bert", "model_type", Value::Null, "`model_type` is missing"),
            (
                "bert",
                "model_type",
                json!("bart"),
                "`model_type` is `bart`, and of safetensors these are run: bert, roberta",
            ),
            (
                "bert",
                "id2label",
                json!({"0": "no"}),
                "`classifier.weight` has 3 labels, and config.json has 1",
            ),
            (
                "bert",
                "id2label",
                json!({"0": "no", "2": "yes"}),
                "1 has no name",
            ),
            (
                "bert",
                "id2label",
                json!([]),
                "`id2label` must be an object",
            ),
            (
                "bert",
                "id2label",
                Value::Null,
                "has 3 labels, and config.json has 2",
            ),
            (
                "bert",
                "problem_type",
                json!("regression"),
                "`problem_type` must be",
            ),
            (
                "bert",
                "hidden_size",
                json!(32),
                "the weights don't fit config.json: shape mismatch",
            ),
            (
                "bert",
                "hidden_size",
                json!(-1),
                "`hidden_size` must be a whole number from 1 to 1048576, and is -1",
            ),
            (
                "bert",
                "num_attention_heads",
                json!(3),
                "can't share out evenly",
            ),
            (
                "bert",
                "num_hidden_layers",
                json!(3),
                "cannot find tensor bert.encoder.layer.2",
            ),
            (
                "bert",
                "vocab_size",
                json!(50),
                "they don't belong together",
            ),
            (
                "bert",
                "max_position_embeddings",
                json!(4),
                "the model takes 4 in all",
            ),
            (
                "bert",
                "hidden_act",
                json!("mish"),
                "`hidden_act` must be gelu",
            ),
            (
                "deberta-v2",
                "conv_kernel_size",
                json!(4),
                "`conv_kernel_size` must be odd",
            ),
            (
                "modernbert",
                "classifier_pooling",
                json!("max"),
                "`classifier_pooling` must be cls or mean",
            ),
        ];
        for (name, key, value, expected) in cases {
            let folder = copy(name);
            edit(folder.path(), "config.json", |config| config[key] = value);
            let error = load(folder.path(), Runtime::Auto).unwrap_err().to_string();
            assert!(error.contains(expected), "{key}: {error}");
            assert!(
                error.contains(folder.path().to_str().unwrap()),
                "{key}: {error}"
            );
        }
    }

    /// No value of any key panics, neither when loading nor when asking.
    #[test]
    fn no_configuration_panics() {
        let values = [
            Value::Null,
            json!(-1),
            json!(0),
            json!(1),
            json!(5),
            json!(1e300),
            json!(u64::MAX),
            json!("x"),
            json!(true),
            json!([]),
            json!([1, "c2p"]),
            json!({}),
        ];
        let long = "the bridge is long ".repeat(10);
        for name in ALL {
            let folder = copy(name);
            let original = std::fs::read(folder.path().join("config.json")).unwrap();
            let config: Value = serde_json::from_slice(&original).unwrap();
            let mut keys: Vec<String> = config.as_object().unwrap().keys().cloned().collect();
            keys.push("problem_type".to_owned());
            keys.push("num_labels".to_owned());
            for key in keys {
                for value in &values {
                    edit(folder.path(), "config.json", |config| {
                        config[&key] = value.clone();
                    });
                    if let Ok(classifier) = load(folder.path(), Runtime::Auto) {
                        let answers = classifier.classify(&[(&long, Some("yes")), ("", None)]);
                        drop(answers);
                    }
                    std::fs::write(folder.path().join("config.json"), &original).unwrap();
                }
            }
        }
    }

    #[test]
    fn files_that_are_cut_off_are_errors() {
        for file in ["config.json", "tokenizer.json", "model.safetensors"] {
            let folder = copy("bert");
            let path = folder.path().join(file);
            let whole = std::fs::read(&path).unwrap();
            for part in 0..40 {
                // From the last but one, which in JSON may be the end of the line.
                let length = (whole.len() - 2) * part / 39;
                std::fs::write(&path, &whole[..length]).unwrap();
                let error = load(folder.path(), Runtime::Auto).unwrap_err().to_string();
                assert!(error.contains(file), "{length} of {file}: {error}");
            }
        }
    }

    #[test]
    fn wrong_weights_are_explained() {
        let error = |change: fn(String, Tensor) -> Option<(String, Tensor)>| {
            let folder = copy("bert");
            rewrite(folder.path(), change);
            load(folder.path(), Runtime::Auto).unwrap_err().to_string()
        };
        let headless =
            error(|name, tensor| (!name.starts_with("classifier")).then_some((name, tensor)));
        assert!(
            headless.contains("no head for the classification of texts"),
            "{headless}"
        );
        let flat = error(|name, tensor| {
            let flat = name == "classifier.weight";
            Some((
                name,
                if flat {
                    tensor.flatten_all().unwrap()
                } else {
                    tensor
                },
            ))
        });
        assert!(
            flat.contains("`classifier.weight` must be a matrix"),
            "{flat}"
        );
        let without_bias =
            error(|name, tensor| (name != "classifier.bias").then_some((name, tensor)));
        assert!(
            without_bias.contains("cannot find tensor classifier.bias"),
            "{without_bias}"
        );
        let numbers = error(|name, tensor| Some((name, tensor.to_dtype(DType::U32).unwrap())));
        assert!(
            numbers.contains("save the weights with 32 or 16 bits"),
            "{numbers}"
        );
    }

    #[test]
    fn damaged_weights_give_no_probability() {
        let folder = copy("bert");
        rewrite(folder.path(), |name, tensor| {
            let damaged = name == "bert.embeddings.LayerNorm.weight";
            let tensor = if damaged {
                (tensor * f64::NAN).unwrap()
            } else {
                tensor
            };
            Some((name, tensor))
        });
        let classifier = load(folder.path(), Runtime::Auto).unwrap();
        let error = classifier.classify(&[("a", None)]).unwrap_err().to_string();
        assert!(error.contains("not finite"), "{error}");
    }

    #[test]
    fn shards_stand_in_the_folder() {
        let folder = copy("xlm-roberta");
        edit(folder.path(), "model.safetensors.index.json", |index| {
            index["weight_map"]["classifier.dense.bias"] = json!("../model.safetensors");
        });
        let error = load(folder.path(), Runtime::Auto).unwrap_err().to_string();
        assert!(
            error.contains("a shard must be a file of the same folder"),
            "{error}"
        );

        let folder = copy("xlm-roberta");
        std::fs::remove_file(folder.path().join("model-00002-of-00002.safetensors")).unwrap();
        let error = load(folder.path(), Runtime::Auto).unwrap_err().to_string();
        assert!(
            error.contains("model-00002-of-00002.safetensors: it can't be read"),
            "{error}"
        );
    }

    #[test]
    fn wrong_tokenizers_are_explained() {
        let cases: [(&dyn Fn(&mut Value), &str); 2] = [
            (
                &|tokenizer| tokenizer["model"]["vocab"]["extra"] = json!(99),
                "they don't belong together",
            ),
            (
                &|tokenizer| {
                    tokenizer["post_processor"] = json!({
                        "type": "TemplateProcessing",
                        "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
                        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
                        "special_tokens": {},
                    });
                },
                "names the token [CLS], which is not among its `special_tokens`",
            ),
        ];
        for (change, expected) in cases {
            let folder = copy("bert");
            edit(folder.path(), "tokenizer.json", change);
            let error = load(folder.path(), Runtime::Auto).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    /// As a suite asks for it.
    fn spec(name: &str) -> ModelSpec {
        let path = fixture(name).to_str().unwrap().to_owned();
        serde_json::from_value(json!({ "path": path })).unwrap()
    }

    fn session() -> Arc<dyn ModelSession> {
        Host::new()
            .cache_dir(None)
            .open(&SessionOptions::default())
            .unwrap()
    }

    fn wait<T>(session: &dyn ModelSession, future: impl Future<Output = T>) -> T {
        let mut done = None;
        session.block_on(std::pin::pin!(async { done = Some(future.await) }));
        done.unwrap()
    }

    #[test]
    fn a_session_classifies_by_the_path_of_a_spec() {
        let session = session();
        let expected = expected(&fixture("deberta-v3"));
        let classifier = session.classifier(&spec("deberta-v3")).unwrap();
        assert_eq!(
            classifier.labels(),
            ["contradiction", "entailment", "neutral"]
        );
        let texts = asked(&expected);
        let got = wait(&*session, classifier.classify(&texts)).unwrap();
        for (got, (text, _, expected)) in got.iter().zip(&expected) {
            assert_close(got, expected, text);
        }
        let long = "the bridge is long ".repeat(30);
        let error = wait(&*session, classifier.classify(&[("a", Some(&long))])).unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::ContextLength, "{error}");
    }

    #[test]
    fn a_spec_may_name_the_labels() {
        let session = session();
        let own = ModelSpec {
            labels: vec!["no".into(), "yes".into()],
            ..spec("distilbert")
        };
        let classifier = session.classifier(&own).unwrap();
        assert_eq!(classifier.labels(), ["no", "yes"]);
        let plain = session.classifier(&spec("distilbert")).unwrap();
        assert_ne!(classifier.identity(), plain.identity());
        let error = session.classifier(&ModelSpec {
            labels: own.labels,
            ..spec("bert")
        });
        let error = error.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Config);
        assert!(
            error
                .message
                .contains("`labels` names 2, and the model has 3: contradiction"),
            "{error}"
        );
    }

    #[test]
    fn a_classifier_flags_as_a_moderator() {
        let session = session();
        let moderator = |flagged: &[&str]| {
            session.moderator(&ModelSpec {
                flagged_labels: flagged.iter().map(|&label| label.to_owned()).collect(),
                ..spec("roberta")
            })
        };
        // `a dog`: insult .49, threat .56, slur .84.
        let both = moderator(&["insult", "threat"]).unwrap();
        let said = wait(&*session, both.moderate(&["a dog"])).unwrap();
        let [said] = said.texts.as_slice() else {
            panic!("{said:?}")
        };
        assert!(said.flagged);
        let categories = said
            .categories
            .iter()
            .map(|category| (category.name.as_str(), category.flagged));
        assert_eq!(
            categories.collect::<Vec<_>>(),
            [("insult", false), ("threat", true)]
        );
        let insult = moderator(&["insult"]).unwrap();
        assert!(!wait(&*session, insult.moderate(&["a dog"])).unwrap().texts[0].flagged);
        for (flagged, expected) in [
            (&[][..], "`flagged_labels` is missing"),
            (&["rude"][..], "names `rude`"),
        ] {
            let error = moderator(flagged).unwrap_err().to_string();
            assert!(
                error.contains(expected) && error.contains("insult, threat, slur"),
                "{error}"
            );
        }
    }

    fn rewrite(folder: &Path, change: impl Fn(String, Tensor) -> Option<(String, Tensor)>) {
        let path = folder.join("model.safetensors");
        let tensors = candle_core::safetensors::load(&path, &Device::Cpu).unwrap();
        let changed: HashMap<String, Tensor> = tensors
            .into_iter()
            .filter_map(|(name, tensor)| change(name, tensor))
            .collect();
        candle_core::safetensors::save(&changed, &path).unwrap();
    }
}

#[cfg(feature = "onnx")]
mod onnx {
    use super::*;

    /// Whether there is a library to test with. CI says that there must be one.
    fn library() -> bool {
        let there = std::env::var_os("ORT_DYLIB_PATH").is_some();
        let required = std::env::var_os("LYDITE_TEST_ORT").is_some();
        assert!(
            there || !required,
            "LYDITE_TEST_ORT is set, and ORT_DYLIB_PATH is not"
        );
        if !there {
            eprintln!("skipped: set ORT_DYLIB_PATH to a libonnxruntime to run this test");
        }
        there
    }

    #[test]
    fn probabilities_are_those_of_transformers() {
        if library() {
            agrees("onnx", Runtime::Auto);
            let classifier = load(&fixture("onnx"), Runtime::Onnx).unwrap();
            assert!(
                classifier.identity().starts_with("onnx/bert@"),
                "{classifier:?}"
            );
        }
    }

    #[test]
    fn broken_files_are_errors() {
        if !library() {
            return;
        }
        let folder = copy("onnx");
        let whole = std::fs::read(fixture("onnx/onnx/model.onnx")).unwrap();
        let error = |bytes: &[u8]| {
            std::fs::write(folder.path().join("model.onnx"), bytes).unwrap();
            load(folder.path(), Runtime::Onnx).unwrap_err().to_string()
        };
        for part in 0..8 {
            let error = error(&whole[..whole.len() * part / 8]);
            assert!(
                error.contains("model.onnx: ONNX Runtime refuses it"),
                "{error}"
            );
        }
        let foreign = error(&replace(&whole, b"token_type_ids", b"token_type_idx"));
        assert!(
            foreign.contains("it asks for the input `token_type_idx`"),
            "{foreign}"
        );
    }

    /// In a process of its own: the library is loaded once a process, and by what its environment says.
    #[test]
    fn a_library_that_is_missing_is_named() {
        let this = std::env::current_exe().unwrap();
        let run = std::process::Command::new(this)
            .args(["--ignored", "--exact", "onnx::without_a_library"])
            .env("ORT_DYLIB_PATH", "/nowhere/libonnxruntime.so")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&run.stdout);
        assert!(run.status.success() && said.contains("1 passed"), "{said}");
    }

    #[test]
    #[ignore = "run by a_library_that_is_missing_is_named"]
    fn without_a_library() {
        let error = load(&fixture("onnx"), Runtime::Onnx).unwrap_err();
        assert!(matches!(error, ClassifierError::Library { .. }), "{error}");
        let text = error.to_string();
        assert!(
            text.contains("/nowhere/libonnxruntime.so, and there is no such file"),
            "{text}"
        );
        assert!(text.contains("the Python package `onnxruntime`"), "{text}");
    }

    fn replace(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
        assert_eq!(from.len(), to.len());
        let mut changed = bytes.to_vec();
        for start in 0..bytes.len() - from.len() {
            if bytes[start..].starts_with(from) {
                changed[start..start + to.len()].copy_from_slice(to);
            }
        }
        changed
    }
}
