//! Where records come from: formats, compression, stdin, several files, encodings.

use std::io::Write as _;

use serde_json::Value;

use crate::support::{Dir, Ran, SUITE, answers};

/// The result lines of a run over one input.
fn results(dir: &Dir, flags: &str) -> Vec<Value> {
    let ran = dir.run(&format!("run --no-store --format jsonl {flags}"));
    assert!(ran.code < 2, "{flags}: {}", ran.transcript());
    ran.lines().into_iter().map(without_place).collect()
}

fn without_place(mut line: Value) -> Value {
    // Lines of a file depend on how it is written.
    for key in ["took_ms", "line"] {
        line.as_object_mut().unwrap().remove(key);
    }
    line
}

#[test]
fn every_format_gives_the_same_results() {
    const N: usize = 30;
    let dir = Dir::with(&[("lydite.yaml", SUITE)]);
    let jsonl = answers(N);
    let records: Vec<Value> = crate::support::json_lines(&jsonl);
    dir.write("data.jsonl", &jsonl);
    dir.write(
        "array.json",
        serde_json::to_string_pretty(&records).unwrap(),
    );
    for key in [
        "records",
        "data",
        "tests",
        "examples",
        "samples",
        "test_cases",
    ] {
        dir.write(
            &format!("{key}.json"),
            serde_json::json!({"version": 3, key: records}).to_string(),
        );
    }
    for (name, delimiter) in [
        ("data.csv", ","),
        ("data.tsv", "\t"),
        ("semicolon.csv", ";"),
    ] {
        let mut table = ["id", "query", "output", "reference", "tags"].join(delimiter) + "\n";
        for record in &records {
            let cell = |key: &str| record[key].as_str().unwrap().to_owned();
            let tags = format!("\"{}\"", record["tags"].to_string().replace('"', "\"\""));
            table += &([
                cell("id"),
                cell("query"),
                cell("output"),
                cell("reference"),
                tags,
            ]
            .join(delimiter)
                + "\n");
        }
        dir.write(name, &table);
        dir.write(&format!("bom-{name}"), format!("\u{feff}{table}"));
        dir.write(&format!("crlf-{name}"), table.replace('\n', "\r\n"));
    }
    dir.write("crlf.jsonl", jsonl.replace('\n', "\r\n"));
    dir.write("bom.jsonl", format!("\u{feff}{jsonl}"));
    dir.write("no-last-newline.jsonl", jsonl.trim_end());
    dir.write("blank-lines.jsonl", jsonl.replace('\n', "\n\n \n"));
    dir.write("data.jsonl.gz", gzip(jsonl.as_bytes()));
    dir.write("data.csv.gz", gzip(dir.read("data.csv").as_bytes()));
    dir.write("array.json.gz", gzip(dir.read("array.json").as_bytes()));
    dir.write(
        "two-members.jsonl.gz",
        [
            gzip(&jsonl.as_bytes()[..100]),
            gzip(&jsonl.as_bytes()[100..]),
        ]
        .concat(),
    );
    dir.write(
        "data.jsonl.zst",
        zstd::encode_all(jsonl.as_bytes(), 1).unwrap(),
    );
    dir.write(
        "data.tsv.zst",
        zstd::encode_all(dir.read("data.tsv").as_bytes(), 1).unwrap(),
    );
    // The content tells, where the name says nothing.
    dir.write("plain", &jsonl);
    dir.write("packed", gzip(jsonl.as_bytes()));

    let expected = results(&dir, "--data data.jsonl");
    assert_eq!(expected.len(), 3 * N);
    let mut names: Vec<String> = std::fs::read_dir(dir.path(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.retain(|name| name != "lydite.yaml");
    assert!(names.len() > 25);
    for name in names {
        assert_eq!(results(&dir, &format!("--data {name}")), expected, "{name}");
    }
}

#[test]
fn stdin_is_read_as_a_file_is() {
    let dir = Dir::with(&[("lydite.yaml", SUITE), ("data.jsonl", &answers(5))]);
    let expected = results(&dir, "--data data.jsonl");
    let csv = "id,query,output,reference\nr1,q,It is 1.,It is 1.\n";
    for (stdin, lines) in [
        (answers(5).into_bytes(), 15),
        (gzip(answers(5).as_bytes()), 15),
        (csv.as_bytes().to_vec(), 3),
    ] {
        let ran: Ran = dir.piped(
            &["run", "--no-store", "--format", "jsonl", "--data", "-"],
            stdin,
        );
        assert_eq!(ran.lines().len(), lines, "{}", ran.transcript());
        if lines == 15 {
            assert_eq!(
                ran.lines()
                    .into_iter()
                    .map(without_place)
                    .collect::<Vec<_>>(),
                expected
            );
        }
    }
    // A sample needs a second look, which stdin does not give; it is copied aside.
    let sampled = dir.piped(
        &[
            "run",
            "--no-store",
            "--format",
            "jsonl",
            "--data",
            "-",
            "--sample",
            "2",
        ],
        answers(5),
    );
    assert_eq!(
        sampled
            .lines()
            .into_iter()
            .map(without_place)
            .collect::<Vec<_>>(),
        results(&dir, "--data data.jsonl --sample 2")
    );
    // The dataset may be stdin, too.
    dir.write("lydite.yaml", format!("{SUITE}dataset: '-'\n"));
    assert_eq!(
        dir.piped(&["run", "--no-store", "--format", "jsonl"], answers(5))
            .lines()
            .len(),
        15
    );
}

#[test]
fn several_files_are_one_dataset() {
    let dir = Dir::with(&[
        ("lydite.yaml", SUITE),
        ("a.jsonl", &answers(4)),
        (
            "b.csv",
            "id,output,reference\nr9,x,y\nr0,It is 0.,It is 0.\n",
        ),
    ]);
    let ran = dir
        .run("run --no-store --format json --data a.jsonl --data b.csv")
        .exits(1);
    let report = ran.json();
    assert_eq!(report["records"]["judged"], 6);
    assert_eq!(
        report["run"]["data"],
        serde_json::json!(["a.jsonl", "b.csv"])
    );
    // An equal given id is another trial, across files too.
    let lines = results(&dir, "--data a.jsonl --data b.csv");
    let last = lines.last().unwrap();
    assert_eq!((&last["record"], &last["trial"]), (&"r0".into(), &2.into()));
    // A suite may list them, from its own folder.
    dir.write(
        "suites/lydite.yaml",
        format!("{SUITE}dataset: {{path: [../a.jsonl, ../b.csv]}}\n"),
    );
    let listed = dir
        .run("run suites/lydite.yaml --no-store --format json")
        .exits(1)
        .json();
    assert_eq!(listed["records"]["judged"], 6);
    // A bad line names its file.
    dir.write("b.csv", "id,output,reference\nr9,x\n");
    let ran = dir
        .run("run --no-store --data a.jsonl --data b.csv")
        .exits(3);
    assert!(
        ran.stdout
            .contains("b.csv:2:5: the row has 2 cells where the header has 3"),
        "{}",
        ran.stdout
    );
}

/// pf-csv-03, pf-csv-05: a BOM and semicolons, as Excel writes them.
#[test]
fn excel_files_are_read_without_a_setting() {
    let dir = Dir::new();
    for table in [
        "\u{feff}o,expected\nhello,hello\n",
        "o;expected\n\"a,b\";\"a,b\"\n",
        "\u{feff}o;expected\r\n\"a;b\";\"a;b\"\r\n",
    ] {
        dir.write(
            "lydite.yaml",
            "version: 1\ndataset: {path: data.csv, fields: {output: o}}\nchecks: [exact_match]\n",
        );
        dir.write("data.csv", table);
        let report = dir.run("run --no-store --format json").exits(0).json();
        assert_eq!(
            (&report["records"]["passed"], &report["records"]["bad"]),
            (&1.into(), &0.into()),
            "{table:?}"
        );
    }
}

/// pf-csv-04: quotes in a cell without quotes are told with line, column and what to do.
#[test]
fn bare_quotes_in_a_cell_are_an_error_of_that_row() {
    let dir = Dir::with(&[(
        "data.csv",
        "id,query,output\n1,a,b\nlbl,What date?,{\"answer\":\"\"}\n2,c,d\n",
    )]);
    let ran = dir.run("run --check nothing --data data.csv --no-store");
    assert_eq!(ran.code, 2);
    let ran = dir
        .args(&[
            "run",
            "--check",
            "contains_any: [b, d]",
            "--data",
            "data.csv",
            "--no-store",
        ])
        .exits(3);
    let said: String = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains(
            "data.csv:3:17: a quote inside a cell without quotes; put the whole cell in quotes"
        ),
        "{}",
        ran.stdout
    );
    assert!(
        said.contains("double the quotes inside it"),
        "{}",
        ran.stdout
    );
    assert!(said.contains("2 passed, 1 bad"), "{}", ran.stdout);
}

/// Text in a cell is text: nothing that looks like a number, a date or JSON is changed.
#[test]
fn cells_keep_their_source_text() {
    let dir = Dir::with(&[(
        "data.csv",
        "output,reference,tags\n01234,01234,\"[\"\"a\"\"]\"\n1.10,1.10,\n2024-01-01,2024-01-01,\n\"{\"\"a\"\": 1}\",\"{\"\"a\"\": 1}\",\nTRUE,TRUE,\n\"\",\"\",\n",
    )]);
    let report = dir
        .run("run --check exact_match --data data.csv --no-store --format json")
        .exits(0)
        .json();
    assert_eq!(report["records"]["passed"], 6);
    assert_eq!(report["checks"][0]["by_tag"]["a"]["n"], 1, "{report}");
}

#[test]
fn bytes_that_are_not_utf8_are_an_error_of_their_record() {
    let dir = Dir::new();
    dir.write(
        "data.jsonl",
        [
            b"{\"output\": \"a\", \"reference\": \"a\"}\n{\"output\": \"caf".as_slice(),
            &[0xe9],
            b"\"}\n{\"output\": \"b\", \"reference\": \"b\"}\n",
        ]
        .concat(),
    );
    let ran = dir
        .run("run --check exact_match --data data.jsonl --no-store")
        .exits(3);
    assert!(
        ran.stdout
            .contains("data.jsonl:2:16: byte 0xe9 is not UTF-8 here; convert the file to UTF-8"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("2 passed, 1 bad"), "{}", ran.stdout);
    let utf16: Vec<u8> = "\u{feff}{\"output\": 1}"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    dir.write("utf16.jsonl", utf16);
    let ran = dir
        .run("run --check exact_match --data utf16.jsonl --no-store")
        .exits(2);
    assert!(
        ran.stderr.contains("UTF-8") || ran.stdout.contains("UTF-8"),
        "{}",
        ran.transcript()
    );
}

#[test]
fn compressed_files_that_break_off_are_said_to() {
    let dir = Dir::new();
    let packed = gzip(answers(3000).as_bytes());
    dir.write("cut.jsonl.gz", &packed[..packed.len() / 2]);
    let ran = dir
        .run("run --check golden_response --data cut.jsonl.gz --no-store")
        .exits(2);
    assert!(
        ran.stderr
            .contains("cut.jsonl.gz: the gzip stream is cut off after"),
        "{}",
        ran.stderr
    );
    let mut broken = packed;
    let middle = broken.len() / 2;
    broken[middle..middle + 20].fill(0xff);
    dir.write("broken.jsonl.gz", broken);
    let ran = dir
        .run("run --check golden_response --data broken.jsonl.gz --no-store")
        .exits(2);
    assert!(
        ran.stderr.contains("damaged") || ran.stderr.contains("cut off"),
        "{}",
        ran.stderr
    );
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
