//! Bytes as a results file: lines or errors with their numbers, and what was read is written as it was.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lydite::results::{CheckResult, LineError, Lines, StoredLine, write_result};

fuzz_target!(|data: &[u8]| {
    let mut lines = Lines::new(data);
    let mut last = 0;
    while let Some(line) = lines.next_line() {
        let torn = matches!(line, Err(LineError::Torn { .. }));
        match line {
            Ok(StoredLine::Narrow(line)) => write_again(&line),
            Ok(StoredLine::Wide(line)) => line.narrow().for_each(|line| write_again(&line)),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
        assert!(lines.number() > last, "a line was read twice");
        last = lines.number();
        assert!(
            !torn || lines.next_line().is_none(),
            "something follows a torn line"
        );
    }
});

fn write_again(line: &CheckResult<'_>) {
    let mut out = Vec::new();
    write_result(&mut out, line);
    let mut again = Lines::new(&*out);
    match again.next_line() {
        Some(Ok(StoredLine::Narrow(read))) => assert_eq!(&read, line),
        other => panic!(
            "we wrote {:?}, which reads as {other:?}",
            String::from_utf8_lossy(&out)
        ),
    }
    assert!(again.next_line().is_none());
}
