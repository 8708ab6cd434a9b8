//! Classifiers as the rest of Lydite asks them: by a suite's `path`, without blocking other models' calls.

use std::path::PathBuf;
use std::sync::Arc;

use lydite::model::{
    self, BoxFuture, ModelError, ModelErrorKind, ModelSpec, Moderated, Moderation,
    ModerationCategory, Moderator, Usage,
};
use tokio::runtime::Handle;
use tokio::sync::Mutex;

use super::{Classifier, ClassifierError, ClassifierFiles, Runtime};

/// The texts that are taken at once.
const BATCH: usize = 32;

/// The probability from which a label flags a text.
const FLAGGED: f32 = 0.5;

/// A classifier of a suite: `{path: <folder>}`, with its own names of labels where the spec has some.
#[derive(Debug)]
pub(crate) struct LocalClassifier {
    name: String,
    identity: String,
    labels: Vec<String>,
    classifier: Arc<Classifier>,
    /// Held while a batch is computed, which takes all processors: two at once would only take more memory.
    busy: Mutex<()>,
}

impl LocalClassifier {
    /// Loads the folder that the spec's `path` names.
    pub(crate) fn load(spec: &ModelSpec) -> Result<Self, ModelError> {
        let name = spec.name();
        let path = spec.path.as_deref().map(PathBuf::from).ok_or_else(|| {
            config_error(format!("{name}: write `path: <folder with config.json, tokenizer.json and model.safetensors>`"))
        })?;
        let runtime = match spec.runtime {
            model::Runtime::Auto => Runtime::Auto,
            model::Runtime::Candle => Runtime::Candle,
            model::Runtime::Onnx => Runtime::Onnx,
        };
        let classifier =
            Classifier::load(&ClassifierFiles { path, runtime }).map_err(ModelError::from)?;
        let labels = labels(spec, &classifier)?;
        Ok(Self {
            identity: format!("{} {}", classifier.identity(), labels.join("\n")),
            name,
            labels,
            classifier: Arc::new(classifier),
            busy: Mutex::default(),
        })
    }

    async fn ask(&self, texts: &[(&str, Option<&str>)]) -> Result<Vec<Vec<f32>>, ModelError> {
        let _turn = self.busy.lock().await;
        let texts: Vec<(String, Option<String>)> = texts
            .iter()
            .map(|&(first, second)| (first.to_owned(), second.map(str::to_owned)))
            .collect();
        let classifier = Arc::clone(&self.classifier);
        let work = move || {
            let texts = texts
                .iter()
                .map(|(first, second)| (first.as_str(), second.as_deref()));
            classifier.classify(&texts.collect::<Vec<_>>())
        };
        let answered = match Handle::try_current() {
            Ok(runtime) => runtime
                .spawn_blocking(work)
                .await
                .map_err(|error| failed(format!("{}: {error}", self.name)))?,
            Err(_) => work(),
        };
        answered.map_err(ModelError::from)
    }
}

impl model::Classifier for LocalClassifier {
    fn identity(&self) -> &str {
        &self.identity
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn labels(&self) -> &[String] {
        &self.labels
    }

    fn batch(&self) -> usize {
        BATCH
    }

    fn classify<'a>(
        &'a self,
        texts: &'a [(&'a str, Option<&'a str>)],
    ) -> BoxFuture<'a, Result<Vec<Arc<[f32]>>, ModelError>> {
        Box::pin(async move {
            let answers = self.ask(texts).await?;
            Ok(answers.into_iter().map(Arc::from).collect())
        })
    }
}

/// A classifier that flags a text for some of its labels.
#[derive(Debug)]
pub(crate) struct LocalModerator {
    classifier: Arc<LocalClassifier>,
    /// Whether each label flags.
    flags: Vec<bool>,
    identity: String,
}

impl LocalModerator {
    /// The spec's `flagged_labels` must be among the classifier's.
    pub(crate) fn new(
        classifier: Arc<LocalClassifier>,
        spec: &ModelSpec,
    ) -> Result<Self, ModelError> {
        let labels = &classifier.labels;
        let flagged = &spec.flagged_labels;
        let unknown = flagged.iter().find(|label| !labels.contains(label));
        if flagged.is_empty() || unknown.is_some() {
            let problem =
                unknown.map_or("is missing".to_owned(), |label| format!("names `{label}`"));
            return Err(config_error(format!(
                "{}: `flagged_labels` {problem}; as a moderator, a classifier needs the labels that flag a text, of {}",
                classifier.name,
                labels.join(", ")
            )));
        }
        Ok(Self {
            flags: labels.iter().map(|label| flagged.contains(label)).collect(),
            identity: format!("{} flags {}", classifier.identity, flagged.join("\n")),
            classifier,
        })
    }

    fn moderation(&self, probabilities: &[f32]) -> Moderation {
        let labels = self
            .classifier
            .labels
            .iter()
            .zip(&self.flags)
            .zip(probabilities);
        let categories: Vec<ModerationCategory> = labels
            .filter(|((_, flags), _)| **flags)
            .map(|((name, _), &score)| ModerationCategory {
                name: name.clone(),
                flagged: score >= FLAGGED,
                score: f64::from(score),
            })
            .collect();
        Moderation {
            flagged: categories.iter().any(|category| category.flagged),
            categories,
        }
    }
}

impl Moderator for LocalModerator {
    fn identity(&self) -> &str {
        &self.identity
    }

    fn name(&self) -> &str {
        &self.classifier.name
    }

    fn batch(&self) -> usize {
        BATCH
    }

    fn moderate<'a>(
        &'a self,
        texts: &'a [&'a str],
    ) -> BoxFuture<'a, Result<Moderated, ModelError>> {
        Box::pin(async move {
            let texts: Vec<_> = texts.iter().map(|&text| (text, None)).collect();
            let answers = self.classifier.ask(&texts).await?;
            Ok(Moderated {
                texts: answers
                    .iter()
                    .map(|answer| self.moderation(answer))
                    .collect(),
                usage: Usage::NONE,
                cached: false,
            })
        })
    }
}

/// The spec's own, of which there must be one for each of the model's; else the model's.
fn labels(spec: &ModelSpec, classifier: &Classifier) -> Result<Vec<String>, ModelError> {
    let own = classifier.labels();
    if spec.labels.is_empty() {
        return Ok(own.to_vec());
    }
    if spec.labels.len() == own.len() {
        return Ok(spec.labels.clone());
    }
    Err(config_error(format!(
        "{}: `labels` names {}, and the model has {}: {}",
        spec.name(),
        spec.labels.len(),
        own.len(),
        own.join(", ")
    )))
}

impl From<ClassifierError> for ModelError {
    fn from(error: ClassifierError) -> Self {
        let kind = match &error {
            ClassifierError::TooLong { .. } => ModelErrorKind::ContextLength,
            ClassifierError::Tokens { .. } => ModelErrorKind::BadRequest,
            ClassifierError::Run { .. } => ModelErrorKind::Local,
            _ => ModelErrorKind::Config,
        };
        Self::new(kind, error.to_string())
    }
}

fn config_error(message: String) -> ModelError {
    ModelError::new(ModelErrorKind::Config, message)
}

fn failed(message: String) -> ModelError {
    ModelError::new(ModelErrorKind::Local, message)
}
