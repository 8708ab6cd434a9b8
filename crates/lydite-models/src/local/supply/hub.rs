//! The model hub: its cache on this machine, and itself over HTTP.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::Url;
use tokio::runtime::Builder;

use super::download::{Download, Failure};
use super::pins::{PinnedFile, PinnedModel};
use super::progress::Telling;
use super::store::Stage;
use crate::wires::environment::Environment;
use crate::wires::secret::Secret;

const ENDPOINT: &str = "https://huggingface.co";

/// The first wait before a download goes on; each further one is twice as long.
const PAUSE: Duration = Duration::from_millis(500);

/// The hub as the environment describes it, by the variables of the hub's own client.
#[derive(Clone, Debug)]
pub(super) struct Hub {
    endpoint: Result<Url, String>,
    /// Sent to the endpoint's host alone.
    token: Option<Secret>,
    pub(super) offline: bool,
    /// Holds `models--ORG--NAME/snapshots/REVISION/FILE`.
    cache: Option<PathBuf>,
    pub(super) pause: Duration,
}

impl Hub {
    pub(super) fn of(environment: Environment<'_>) -> Self {
        let token = environment.first(&["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"]);
        Self {
            endpoint: endpoint(environment),
            token: token.map(|(_, token)| Secret::new(&token)),
            offline: environment
                .get("HF_HUB_OFFLINE")
                .is_some_and(|value| is_true(&value)),
            cache: cache(environment),
            pause: PAUSE,
        }
    }

    /// The address without user, password and query.
    pub(super) fn shown(&self) -> String {
        self.endpoint.as_ref().map_or_else(
            |_| "the model hub".to_owned(),
            |url| origin(url) + url.path().trim_end_matches('/'),
        )
    }

    /// Folders of the hub's cache that may hold a model, that of the pinned revision first. Others may hold the
    /// same files.
    pub(super) fn snapshots(&self, model: &PinnedModel<'_>) -> Vec<PathBuf> {
        let Some(cache) = &self.cache else {
            return Vec::new();
        };
        let above = cache
            .join(format!("models--{}", model.repository.replace('/', "--")))
            .join("snapshots");
        let pinned = above.join(model.revision);
        let entries = fs::read_dir(above).into_iter().flatten();
        let mut others: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| *path != pinned)
            .collect();
        others.sort();
        others.insert(0, pinned);
        others
    }

    /// Fetches what is missing on a stage, and goes on where an earlier fetch broke off.
    pub(super) fn fetch(
        &self,
        model: &PinnedModel<'_>,
        stage: &Stage,
        telling: &Telling<'_>,
    ) -> Result<(), Failure> {
        // The caller may be inside of a runtime, which could not drive this one.
        std::thread::scope(|scope| {
            let fetching = || block_on(self.fetch_files(model, stage, telling));
            let thread = scope.spawn(fetching);
            thread
                .join()
                .unwrap_or_else(|_| Err(Failure::Lasting("the download panicked".to_owned())))
        })
    }

    async fn fetch_files(
        &self,
        model: &PinnedModel<'_>,
        stage: &Stage,
        telling: &Telling<'_>,
    ) -> Result<(), Failure> {
        let mut before = 0;
        for pin in model.files {
            let download = Download {
                url: self.address(model, pin)?,
                token: self.token.as_ref(),
                pin,
                part: &stage.part(pin.name),
                pause: self.pause,
                advanced: &|bytes| telling.advanced(before + bytes),
            };
            if !is_whole(&stage.file(pin.name), pin) {
                download.run().await?;
                stage
                    .accept(pin.name)
                    .map_err(|error| Failure::Lasting(error.to_string()))?;
            }
            before += pin.bytes;
            telling.advanced(before);
        }
        Ok(())
    }

    fn address(&self, model: &PinnedModel<'_>, pin: &PinnedFile<'_>) -> Result<Url, Failure> {
        let mut url = self.endpoint.clone().map_err(Failure::Lasting)?;
        let above = url.path().trim_end_matches('/');
        let path = format!(
            "{above}/{}/resolve/{}/{}",
            model.repository, model.revision, pin.name
        );
        url.set_path(&path);
        Ok(url)
    }
}

/// Scheme, host and port.
pub(super) fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

fn block_on(future: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Lasting(format!("the network can't be used: {error}")))?;
    let done = runtime.block_on(future);
    // A look-up of a name that hangs is not waited for.
    runtime.shutdown_background();
    done
}

/// Whether an earlier fetch left a whole file. It is hashed when it is installed.
fn is_whole(path: &Path, pin: &PinnedFile<'_>) -> bool {
    fs::metadata(path).is_ok_and(|found| found.len() == pin.bytes)
}

fn endpoint(environment: Environment<'_>) -> Result<Url, String> {
    let text = environment.get("HF_ENDPOINT");
    let url = Url::parse(text.as_deref().unwrap_or(ENDPOINT)).ok();
    url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
        .ok_or_else(|| {
            "HF_ENDPOINT is no address; write it as `https://host`, or unset it".to_owned()
        })
}

/// As the hub's own client finds its cache.
fn cache(environment: Environment<'_>) -> Option<PathBuf> {
    let named = environment.first(&["HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"]);
    if let Some((_, cache)) = named {
        return Some(cache.into());
    }
    let home = || {
        let home = environment.first(&["HOME", "USERPROFILE"]);
        home.map(|(_, home)| PathBuf::from(home))
    };
    let base = environment.get("HF_HOME").map(PathBuf::from).or_else(|| {
        let caches = environment.get("XDG_CACHE_HOME").map(PathBuf::from);
        let caches = caches.or_else(|| home().map(|home| home.join(".cache")));
        caches.map(|caches| caches.join("huggingface"))
    });
    base.map(|base| base.join("hub"))
}

fn is_true(value: &str) -> bool {
    ["1", "on", "yes", "true"]
        .iter()
        .any(|word| value.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hub(variables: &[(&str, &str)]) -> Hub {
        Hub::of(Environment(&|name| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        }))
    }

    #[test]
    fn addresses_and_what_is_shown_of_them() {
        let model = super::super::pins::MINILM;
        let path = "sentence-transformers/all-MiniLM-L6-v2/resolve/1110a243fdf4706b3f48f1d95db1a4f5529b4d41/config.json";
        for (endpoint, shown, address) in [
            (
                None,
                "https://huggingface.co",
                format!("https://huggingface.co/{path}"),
            ),
            (
                Some("http://u:hunter2@mirror:8080/hf/"),
                "http://mirror:8080/hf",
                format!("http://u:hunter2@mirror:8080/hf/{path}"),
            ),
        ] {
            let variables: Vec<_> = endpoint
                .map(|url| ("HF_ENDPOINT", url))
                .into_iter()
                .collect();
            let hub = hub(&variables);
            assert_eq!(hub.shown(), shown);
            let found = hub.address(&model, &model.files[2]).unwrap();
            assert_eq!(found.as_str(), address);
        }
        for wrong in ["huggingface.co", "ftp://h", "http:"] {
            let hub = hub(&[("HF_ENDPOINT", wrong)]);
            assert!(hub.address(&model, &model.files[0]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn where_the_hub_keeps_its_files() {
        for (variables, expected) in [
            (&[("HF_HUB_CACHE", "/a"), ("HF_HOME", "/b")][..], Some("/a")),
            (&[("HF_HOME", "/b"), ("HOME", "/h")], Some("/b/hub")),
            (
                &[("XDG_CACHE_HOME", "/c"), ("HOME", "/h")],
                Some("/c/huggingface/hub"),
            ),
            (&[("HOME", "/h")], Some("/h/.cache/huggingface/hub")),
            (&[], None),
        ] {
            assert_eq!(hub(variables).cache, expected.map(PathBuf::from));
        }
    }

    #[test]
    fn offline_as_the_hub_understands_it() {
        for (value, expected) in [("1", true), ("True", true), ("0", false), ("", false)] {
            assert_eq!(
                hub(&[("HF_HUB_OFFLINE", value)]).offline,
                expected,
                "{value}"
            );
        }
        assert!(!format!("{:?}", hub(&[("HF_TOKEN", "hf_hunter2")])).contains("hunter2"));
    }
}
