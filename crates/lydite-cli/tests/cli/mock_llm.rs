//! The mock as a command: what it prints, serves and leaves.

use crate::support::Dir;

#[test]
fn wrong_flags_are_told() {
    let dir = Dir::with(&[
        ("rules.jsonl", "\n{\"replies\": 1}\n"),
        ("config.json", "{\"latency\": 1}"),
    ]);
    for (line, part) in [
        ("--hang 2", "a share from 0 to 1"),
        ("--hang 60% --cut 50%", "sum to 1.1"),
        ("--strict", "--replies"),
        ("--threads 0", "from 1"),
        ("--replies none.jsonl", "none.jsonl"),
        (
            "--replies rules.jsonl",
            "rule 2: not a rule: unknown field `replies`",
        ),
        ("--config config.json", "unknown field `latency`"),
        ("--api-key-env LYDITE_NO_SUCH_KEY", "LYDITE_NO_SUCH_KEY"),
    ] {
        let ran = dir.run(&format!("mock-llm --port 0 {line}")).exits(2);
        assert!(ran.stderr.contains(part), "{line}: {}", ran.transcript());
    }
}

#[cfg(unix)]
mod serving {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::net::TcpStream;
    use std::process::{Child, Command, Stdio};

    use serde_json::Value;

    use crate::support::Dir;

    /// A mock that serves, and is killed with the test.
    struct Serving {
        child: Child,
        stdout: BufReader<std::process::ChildStdout>,
        url: String,
    }

    impl Serving {
        fn start(dir: &Dir, flags: &[&str]) -> Self {
            let mut command = dir.command(&[&["mock-llm", "--port", "0"], flags].concat());
            command
                .env("MOCK_KEY", "sk-secret")
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            let mut child = command.spawn().unwrap();
            let mut stdout = BufReader::new(child.stdout.take().unwrap());
            let mut url = String::new();
            stdout.read_line(&mut url).unwrap();
            Self {
                child,
                stdout,
                url: url.trim_end().to_owned(),
            }
        }

        fn post(&self, headers: &str) -> String {
            let address = self.url.strip_prefix("http://").unwrap();
            let mut stream = TcpStream::connect(address).unwrap();
            let body = r#"{"model": "m", "messages": [{"role": "user", "content": "tea?"}]}"#;
            write!(
                stream,
                "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}content-length: {}\r\n\r\n{body}",
                body.len()
            )
            .unwrap();
            let mut got = String::new();
            stream.read_to_string(&mut got).unwrap();
            got
        }

        /// Presses Ctrl-C. Gives the rest of stdout, and all of stderr.
        fn stop(mut self) -> (String, String) {
            let pid = self.child.id().to_string();
            assert!(
                Command::new("kill")
                    .args(["-INT", &pid])
                    .status()
                    .unwrap()
                    .success()
            );
            let (mut out, mut err) = (String::new(), String::new());
            self.stdout.read_to_string(&mut out).unwrap();
            self.child
                .stderr
                .take()
                .unwrap()
                .read_to_string(&mut err)
                .unwrap();
            assert_eq!(self.child.wait().unwrap().code(), Some(0), "{err}");
            (out, err)
        }
    }

    impl Drop for Serving {
        fn drop(&mut self) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }

    #[test]
    fn it_serves_until_ctrl_c_and_tells_what_it_did() {
        let dir = Dir::with(&[
            (
                "rules.jsonl",
                "{\"contains\": \"tea\", \"reply\": \"Oolong\"}\n",
            ),
            (
                "config.json",
                "{\"latency_ms\": 1, \"faults\": {\"lasting\": true}}",
            ),
        ]);
        let serving = Serving::start(
            &dir,
            &[
                "--replies",
                "rules.jsonl",
                "--config",
                "config.json",
                "--api-key-env",
                "MOCK_KEY",
                "--stats",
            ],
        );
        assert!(
            serving.url.starts_with("http://127.0.0.1:"),
            "{}",
            serving.url
        );
        assert!(serving.post("").starts_with("HTTP/1.1 401 "));
        let got = serving.post("authorization: Bearer sk-secret\r\n");
        assert!(
            got.starts_with("HTTP/1.1 200 ") && got.contains("\"Oolong\""),
            "{got}"
        );
        let url = serving.url.clone();
        let (out, err) = serving.stop();
        let stats: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(
            (&stats["requests"], &stats["ok"], &stats["refused"]),
            (&2.into(), &1.into(), &1.into())
        );
        assert!(err.contains(&url) && err.lines().count() == 1, "{err}");
        assert!(!out.contains("sk-") && !err.contains("sk-"));
    }

    #[test]
    fn with_tls_it_writes_its_certificate() {
        let dir = Dir::new();
        let serving = Serving::start(&dir, &["--tls", "cert.pem"]);
        assert!(serving.url.starts_with("https://"), "{}", serving.url);
        let (out, err) = serving.stop();
        assert!(
            out.is_empty() && err.contains("--cacert cert.pem"),
            "{out}{err}"
        );
        assert!(
            dir.read("cert.pem")
                .starts_with("-----BEGIN CERTIFICATE-----")
        );
    }
}
