//! `lydite mock-llm`: a mock of LLM providers.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use lydite_mock_llm::{ApiKey, Config, Listen, MockServer, Replies, parse_share};

use super::parse_count;
use crate::CommandResult;
use crate::terminal::{outln, say};

/// Serve a mock of LLM providers, to test what asks them.
///
/// It speaks as OpenAI does (/v1/chat/completions, /v1/embeddings, /v1/moderations, Azure's paths too), as Anthropic
/// (/v1/messages) and as Gemini (/v1beta/models/MODEL:generateContent, :embedContent, :batchEmbedContents), at
/// 127.0.0.1, until Ctrl-C. The first line on stdout is its base URL.
///
/// Replies are instances of the schema or tool that a request asks for, and their verdict follows a marker in the
/// prompt: `[[bad` gives the low one (false, the last of an enumeration, the minimum), anything else the high one. Other
/// replies come from --replies: a JSON object a line, the first that fits wins, such as
/// {"contains": "Paris", "reply": {"verdict": "pass"}} or {"times": 2, "status": 503}.
///
/// Faults are shares of all requests (`10%` or `0.1`), and depend on nothing but seed, body and attempt. GET /admin/stats
/// tells what was given, GET /admin/requests what was asked; POST /admin/config takes another configuration and counts
/// anew. docs/mock-llm.md has the rest.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lydite mock-llm --port 0 --latency-ms 200 --rate-limited 10% --retry-after 0.5
  lydite mock-llm --replies replies.jsonl --strict --stats
  lydite mock-llm --malformed 20% --thinking 20% --lasting --seed 7")]
pub(crate) struct Args {
    /// 0 is a free one.
    #[arg(long, value_name = "N", default_value_t = 8080)]
    port: u16,
    /// Threads that serve.
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse_count)]
    threads: u64,
    /// Serve HTTPS, with a certificate made for it, which is written to this file for clients to trust.
    #[arg(long, value_name = "CERT.pem")]
    tls: Option<PathBuf>,
    /// A configuration as JSON, as POST /admin/config takes it; flags take precedence.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print the statistics as JSON at the end.
    #[arg(long)]
    stats: bool,

    #[command(flatten)]
    replies: ReplyArgs,
    #[command(flatten)]
    access: AccessArgs,
    #[command(flatten)]
    faults: FaultArgs,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Replies")]
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
struct ReplyArgs {
    /// Rules for replies, as JSONL; a request that none fits is answered by its schema.
    #[arg(long, value_name = "FILE", conflicts_with = "echo")]
    replies: Option<PathBuf>,
    /// With --replies: 404 where no rule fits.
    #[arg(long, requires = "replies")]
    strict: bool,
    /// The model repeats its whole prompt in prose, as one does that an attack has taken over.
    #[arg(long)]
    echo: bool,
    /// With --echo: what it says after that. [default: nothing, so no verdict]
    #[arg(long, value_name = "TEXT", requires = "echo")]
    echo_then: Option<String>,
    /// The model answers in prose although a schema was asked for.
    #[arg(long)]
    ignore_schema: bool,
    /// Milliseconds before a reply. [default: 0]
    #[arg(long, value_name = "MS")]
    latency_ms: Option<u64>,
    /// The length of embeddings whose request names none. [default: 256]
    #[arg(long, value_name = "N")]
    dimension: Option<usize>,
    /// Give no log-probabilities, as many servers don't.
    #[arg(long)]
    no_logprobs: bool,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Access")]
struct AccessArgs {
    /// Refuse (401) every key but the one in this environment variable.
    #[arg(long, value_name = "VARIABLE")]
    api_key_env: Option<String>,
    /// The only models that there are, with commas between; others are 404.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    models: Option<Vec<String>>,
    /// Refuse longer prompts, as too long for the model.
    #[arg(long, value_name = "N")]
    max_prompt_chars: Option<usize>,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Faults")]
struct FaultArgs {
    /// Decides which requests meet a fault. [default: 0]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// A request that meets a fault meets it at every attempt; else each attempt is decided anew.
    #[arg(long)]
    lasting: bool,
    /// 429 with Retry-After, at once.
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    rate_limited: Option<f64>,
    /// What Retry-After says, in seconds, fractions too. [default: 1]
    #[arg(long, value_name = "S")]
    retry_after: Option<f64>,
    /// 429 for requests beyond this many at once.
    #[arg(long, value_name = "N")]
    max_in_flight: Option<u64>,
    /// A server error, at once.
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    server_error: Option<f64>,
    /// Its status; 529 is Anthropic's `overloaded`. [default: 500]
    #[arg(long, value_name = "STATUS")]
    server_error_status: Option<u16>,
    /// No reply, and the connection closed after --hang-s.
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    hang: Option<f64>,
    /// How long a hanging request hangs, in seconds. [default: 60]
    #[arg(long, value_name = "S")]
    hang_s: Option<f64>,
    /// The connection closed in place of a reply, or within it.
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    cut: Option<f64>,
    /// The model's words cut at 60 %, with the opposite verdict.
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    malformed: Option<f64>,
    /// The same, and said to be at the limit of tokens.
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    truncated: Option<f64>,
    /// The right reply in a Markdown fence, with prose around it.
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    fenced: Option<f64>,
    /// The right reply after <think> text with the opposite verdict.
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    thinking: Option<f64>,
    /// The right reply after prose that quotes the opposite verdict.
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    injected: Option<f64>,
}

pub(crate) fn run(args: Args) -> CommandResult {
    let (stop, stopped) = mpsc::channel();
    ctrlc::set_handler(move || {
        // Nobody listens any more once the first Ctrl-C was heard.
        let _ = stop.send(());
    })
    .map_err(|error| format!("can't listen for Ctrl-C: {error}"))?;
    let listen = Listen {
        port: args.port,
        threads: usize::try_from(args.threads).unwrap_or(usize::MAX),
        tls: args.tls.is_some(),
    };
    let (certificate, with_stats) = (args.tls.clone(), args.stats);
    let server =
        MockServer::start_on(&listen, config(args)?).map_err(|error| failed(&listen, &error))?;
    if let (Some(path), Some(pem)) = (&certificate, server.certificate_pem()) {
        std::fs::write(path, pem)
            .map_err(|error| format!("can't write `{}`: {error}", path.display()))?;
    }
    announce(&server, certificate.as_deref());
    // An error would mean that the handler is gone, and with it the way to stop.
    let _ = stopped.recv();
    if with_stats {
        let stats =
            serde_json::to_string_pretty(&server.stats()).map_err(|error| error.to_string())?;
        outln!("{stats}");
    }
    Ok(0)
}

fn failed(listen: &Listen, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::InvalidInput => error.to_string(),
        io::ErrorKind::AddrInUse => format!(
            "port {} is in use; name another with --port, or --port 0 for a free one",
            listen.port
        ),
        _ => format!("can't serve at port {}: {error}", listen.port),
    }
}

fn announce(server: &MockServer, certificate: Option<&Path>) {
    let url = server.url();
    outln!("{url}");
    say(&format!(
        "try: curl {url}/v1/chat/completions -d '{{\"model\": \"m\", \"messages\": [{{\"role\": \"user\", \"content\": \"hello\"}}]}}'{}; statistics: curl {url}/admin/stats; end: Ctrl-C",
        certificate.map_or_else(String::new, |path| format!(" --cacert {}", path.display()))
    ));
}

/// The configuration of the file, with what the flags say.
fn config(args: Args) -> Result<Config, String> {
    let mut config = match &args.config {
        Some(path) => read_config(path)?,
        None => Config::default(),
    };
    args.replies.apply(&mut config);
    args.access.apply(&mut config)?;
    args.faults.apply(&mut config);
    Ok(config)
}

fn read_config(path: &Path) -> Result<Config, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("can't read the configuration `{}`: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("--config {}: {error}", path.display()))
}

/// Takes the value of a flag that was given.
fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

impl ReplyArgs {
    fn apply(self, config: &mut Config) {
        if self.echo {
            config.replies = Replies::Echo {
                then: self.echo_then,
            };
        } else if let Some(path) = self.replies {
            config.replies = Replies::File {
                path,
                strict: self.strict,
            };
        }
        config.ignore_schema |= self.ignore_schema;
        config.logprobs &= !self.no_logprobs;
        set(&mut config.latency_ms, self.latency_ms);
        set(&mut config.dimension, self.dimension);
    }
}

impl AccessArgs {
    fn apply(self, config: &mut Config) -> Result<(), String> {
        if let Some(name) = self.api_key_env {
            let key = std::env::var(&name).map_err(|_| {
                format!("--api-key-env: the environment variable `{name}` is not set")
            })?;
            config.api_key = Some(ApiKey::from(key));
        }
        config.models = self.models.or(config.models.take());
        config.max_prompt_chars = self.max_prompt_chars.or(config.max_prompt_chars);
        Ok(())
    }
}

impl FaultArgs {
    fn apply(self, config: &mut Config) {
        set(&mut config.seed, self.seed);
        let faults = &mut config.faults;
        faults.lasting |= self.lasting;
        faults.max_in_flight = self.max_in_flight.or(faults.max_in_flight);
        set(&mut faults.rate_limited, self.rate_limited);
        set(&mut faults.retry_after_s, self.retry_after);
        set(&mut faults.server_error, self.server_error);
        set(&mut faults.server_error_status, self.server_error_status);
        set(&mut faults.hang, self.hang);
        set(&mut faults.hang_s, self.hang_s);
        set(&mut faults.cut, self.cut);
        set(&mut faults.malformed, self.malformed);
        set(&mut faults.truncated, self.truncated);
        set(&mut faults.fenced, self.fenced);
        set(&mut faults.thinking, self.thinking);
        set(&mut faults.injected, self.injected);
    }
}
