//! An embedder that runs in this process, as a wire: under the same layers as those behind an API.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use lydite::model::{
    BoxFuture, LOCAL_EMBEDDER, ModelError, ModelErrorKind, ModelSpec, TokenVectors, Usage,
};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::minilm::{self, MiniLm};
use super::supply::{PinnedModel, Supply, SupplyError, by_id, fingerprint};
use crate::attempt::{Attempt, AttemptError, EmbedWire};
use crate::wires::http::config_error;

/// Texts a call: many, for those of like length are computed together.
const BATCH: usize = 1024;

/// The files that make a model of a folder of one's own.
const FILES: [&str; 3] = ["model.safetensors", "tokenizer.json", "config.json"];

/// A sentence encoder that is read when it is first needed: what is cached needs none.
#[derive(Debug)]
pub(crate) struct LocalEmbedder {
    identity: String,
    name: String,
    encoder: Arc<Encoder>,
    /// One call computes at a time, on all cores.
    turn: Semaphore,
}

#[derive(Debug)]
struct Encoder {
    files: Files,
    read: OnceLock<Result<MiniLm, String>>,
}

#[derive(Debug)]
enum Files {
    Here(PathBuf),
    /// Looked for on this machine alone, once they are needed.
    Sought(Box<Supply>, PinnedModel<'static>),
}

impl LocalEmbedder {
    /// Finds a model's files, and fetches them where that is allowed.
    pub(crate) fn new(spec: &ModelSpec, supply: &Supply) -> Result<Self, ModelError> {
        if let Some(folder) = &spec.path {
            return Self::own(spec, Path::new(folder));
        }
        let model = pinned(spec)?;
        let found = supply.find(&model).map_err(|error| missing(&error))?;
        Ok(Self::of(spec, &model.identity(), Files::Here(found.folder)))
    }

    /// The same for runs that compute nothing as a rule, dry or replayed: the files need not be there.
    pub(crate) fn unsent(spec: &ModelSpec, supply: &Supply) -> Result<Self, ModelError> {
        if let Some(folder) = &spec.path {
            return Self::own(spec, Path::new(folder));
        }
        let model = pinned(spec)?;
        let files = Files::Sought(Box::new(supply.clone().offline(true)), model);
        Ok(Self::of(spec, &model.identity(), files))
    }

    fn own(spec: &ModelSpec, folder: &Path) -> Result<Self, ModelError> {
        let hash = |name: &&str| {
            let path = folder.join(name);
            fingerprint(&path).map_err(|error| {
                config_error(spec, &format!("{} can't be read: {error}", path.display()))
            })
        };
        let hashes: Vec<String> = FILES.iter().map(hash).collect::<Result<_, _>>()?;
        let files = Files::Here(folder.to_owned());
        Ok(Self::of(spec, &hashes.join(" "), files))
    }

    fn of(spec: &ModelSpec, files_identity: &str, files: Files) -> Self {
        let read = OnceLock::new();
        Self {
            identity: format!("local embedder {files_identity}"),
            name: spec.name(),
            encoder: Arc::new(Encoder { files, read }),
            turn: Semaphore::new(1),
        }
    }

    /// Computes on a thread that may block, so that the session's goes on.
    async fn compute<T: Send + 'static>(
        &self,
        texts: &[&str],
        with: fn(&MiniLm, &[&str]) -> Result<T, super::LocalError>,
    ) -> Result<T, String> {
        let _turn = self.turn.acquire().await;
        let texts: Vec<String> = texts.iter().map(ToString::to_string).collect();
        let encoder = Arc::clone(&self.encoder);
        let computed = spawn_blocking(move || {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let model = encoder.model()?;
            with(model, &texts).map_err(|error| error.to_string())
        });
        let ended = computed.await;
        ended.unwrap_or_else(|error| Err(format!("the computation ended early: {error}")))
    }
}

impl Encoder {
    fn model(&self) -> Result<&MiniLm, String> {
        let read = self.read.get_or_init(|| {
            let folder = match &self.files {
                Files::Here(folder) => folder.clone(),
                Files::Sought(supply, model) => {
                    let found = supply.find(model).map_err(|error| error.to_string())?;
                    found.folder
                }
            };
            MiniLm::load(&folder).map_err(|error| error.to_string())
        });
        read.as_ref().map_err(Clone::clone)
    }
}

impl EmbedWire for LocalEmbedder {
    fn identity(&self) -> &str {
        &self.identity
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn batch(&self) -> usize {
        BATCH
    }

    /// However long it takes: nobody else is waited for.
    fn attempt<'a>(
        &'a self,
        texts: &'a [&'a str],
        _timeout: Duration,
    ) -> BoxFuture<'a, Attempt<Vec<Vec<f32>>>> {
        Box::pin(async move {
            let began = Instant::now();
            let embedded = self.compute(texts, MiniLm::embed).await;
            let outcome = embedded
                .map(|vectors| vectors.iter().map(|vector| vector.to_vec()).collect())
                .map_err(|error| AttemptError::lasting(ModelErrorKind::Local, self.said(&error)));
            Attempt {
                outcome,
                status: None,
                took: began.elapsed(),
                usage: Usage {
                    calls: 1,
                    ..Usage::NONE
                },
                request_id: None,
            }
        })
    }

    fn tokens<'a>(
        &'a self,
        texts: &'a [&'a str],
    ) -> BoxFuture<'a, Result<Vec<Arc<TokenVectors>>, ModelError>> {
        Box::pin(async move {
            let embed = |model: &MiniLm, texts: &[&str]| {
                let tokens = model.embed_tokens(texts)?;
                let size = model.dimensions();
                Ok(tokens.into_iter().map(|it| each(it, size)).collect())
            };
            let computed = self.compute(texts, embed).await;
            computed.map_err(|error| ModelError::new(ModelErrorKind::Local, self.said(&error)))
        })
    }
}

impl LocalEmbedder {
    fn said(&self, error: &str) -> String {
        format!("{}: {error}", self.name)
    }
}

/// One vector a token.
fn each(tokens: minilm::TokenVectors, size: usize) -> Arc<TokenVectors> {
    Arc::new(TokenVectors {
        spans: tokens.spans,
        vectors: tokens
            .vectors
            .chunks_exact(size.max(1))
            .map(Arc::from)
            .collect(),
    })
}

fn pinned(spec: &ModelSpec) -> Result<PinnedModel<'static>, ModelError> {
    let id = if spec.model.is_empty() {
        LOCAL_EMBEDDER
    } else {
        &spec.model
    };
    by_id(id).ok_or_else(|| {
        config_error(
            spec,
            &format!(
                "there is no built-in embedder of this name; write `local/{LOCAL_EMBEDDER}`, or name a folder by `path`"
            ),
        )
    })
}

fn missing(error: &SupplyError) -> ModelError {
    let kind = match error {
        SupplyError::Missing(missing) if missing.offline => ModelErrorKind::Offline,
        _ => ModelErrorKind::Local,
    };
    ModelError::new(kind, error.to_string())
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use lydite::model::{ModelHost, SessionOptions};

    use super::*;
    use crate::Host;

    fn supply(dir: &Path) -> Supply {
        Supply::from_environment()
            .model_dir(Some(dir.to_owned()))
            .cache_dir(Some(dir))
            .offline(true)
    }

    #[test]
    fn models_that_are_not_there() {
        let dir = tempfile::tempdir().unwrap();
        let unknown = ModelSpec::parse("local/all-mpnet").unwrap();
        let folder = ModelSpec {
            path: Some(dir.path().display().to_string()),
            ..ModelSpec::local_embedder()
        };
        for (spec, words) in [
            (unknown, "there is no built-in embedder of this name"),
            (folder, "model.safetensors can't be read"),
        ] {
            for make in [LocalEmbedder::new, LocalEmbedder::unsent] {
                let error = make(&spec, &supply(dir.path())).unwrap_err();
                assert_eq!(error.kind, ModelErrorKind::Config);
                assert!(error.message.contains(words), "{error}");
            }
        }
        // What is in nobody's way is left out: this machine's hub cache may hold the model.
        let spec = ModelSpec::local_embedder();
        let unsent = LocalEmbedder::unsent(&spec, &supply(dir.path())).unwrap();
        assert!(
            unsent.identity().contains("53aa51172d142c89"),
            "{}",
            unsent.identity()
        );
    }

    /// By the real files, whose folder `LYDITE_MODEL_DIR` names.
    #[test]
    fn the_session_goes_on_while_texts_are_embedded() {
        let Some(model_dir) = std::env::var_os("LYDITE_MODEL_DIR") else {
            assert!(
                std::env::var_os("CI").is_none(),
                "LYDITE_MODEL_DIR must be set"
            );
            return;
        };
        let cache = tempfile::tempdir().unwrap();
        let host = Host::new().cache_dir(Some(cache.path().to_owned()));
        let options = SessionOptions {
            offline: true,
            model_dir: Some(model_dir.into()),
            ..SessionOptions::default()
        };
        let session = host.open(&options).unwrap();
        let embedder = session.embedder(&ModelSpec::local_embedder()).unwrap();
        let texts: Vec<String> = (0..200)
            .map(|i| format!("Sentence {i} says little."))
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        session.block_on(pin!(async {
            let mut ticks = 0;
            let embedded = embedder.embed(&texts);
            let mut embedded = pin!(embedded);
            let vectors = loop {
                tokio::select! {
                    said = &mut embedded => break said.unwrap().vectors,
                    () = tokio::time::sleep(Duration::from_millis(5)) => ticks += 1,
                }
            };
            assert!(ticks > 3, "{ticks}");
            assert!(vectors.len() == 200 && vectors.iter().all(|it| it.len() == 384));
            let again = embedder.embed(&texts).await.unwrap();
            assert!(again.cached && again.vectors == vectors);
            let tokens = embedder.embed_tokens(&texts[..2]).await.unwrap();
            let first = &tokens[0];
            assert_eq!(first.spans.len(), first.vectors.len());
            assert!(first.vectors.iter().all(|it| it.len() == 384));
        }));
    }
}
