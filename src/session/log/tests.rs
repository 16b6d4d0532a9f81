use std::cell::Cell;
use std::fs;

use proptest::prelude::*;

use super::*;
use crate::event::{Author, Event, UserMessage};

thread_local! {
    static SYNCS: Cell<u32> = const { Cell::new(0) };
    static SYNC_FAULT: Cell<Option<io::ErrorKind>> = const { Cell::new(None) };
}

/// Counts a sync of this thread; a fault that is set is given back.
pub(super) fn synced() -> Option<io::ErrorKind> {
    SYNCS.set(SYNCS.get() + 1);
    SYNC_FAULT.get()
}

/// How often this thread has synced a log since it was last asked.
pub(crate) fn syncs() -> u32 {
    SYNCS.take()
}

/// From here on the disk fails this thread's syncs.
pub(crate) fn fail_syncs(fault: io::ErrorKind) {
    SYNC_FAULT.set(Some(fault));
}

fn header() -> Header {
    Header {
        kind: "session".into(),
        version: FORMAT_VERSION,
        id: "s".into(),
        created_at: "2026-11-30T09:15:00.123Z".into(),
        cwd: "/w".into(),
        xsh: "0.1.0".into(),
        forked_from: None,
        mark: None,
    }
}

fn record(seq: u64, text: &str) -> Record {
    let message = UserMessage { turn: 1, content: text.to_owned(), author: Author::User };
    Record { seq, at: "now".into(), event: Event::UserMessage(message) }
}

/// Writes a log with these texts.
fn write(path: &Path, texts: &[&str]) {
    let mut log = Log::Planned { path: path.to_owned(), header: header(), refuge: None };
    for (index, text) in texts.iter().enumerate() {
        log.append(&record(index as u64 + 1, text)).unwrap();
    }
}

/// Reads a log back: its texts and what was damaged.
fn texts(path: &Path) -> (Vec<String>, Damage) {
    let mut texts = Vec::new();
    let (_, damage, _) = read(path, &CancellationToken::new(), |record| match record.event {
        Event::UserMessage(message) => texts.push(message.content),
        Event::Unknown(kind) => texts.push(kind),
        other @ (Event::SystemPrompt(_)
        | Event::AssistantMessage(_)
        | Event::ToolStarted(_)
        | Event::ToolResult(_)
        | Event::Compaction(_)
        | Event::ModelChanged(_)
        | Event::Permission(_)
        | Event::FileChange(_)
        | Event::Rewind(_)
        | Event::RewindFinished(_)
        | Event::TurnFinished(_)) => panic!("not written here: {other:?}"),
    })
    .unwrap();
    (texts, damage)
}

fn resume_and_add(path: &Path, seq: u64, text: &str) -> Damage {
    let (_, damage, file) = resume(path, &CancellationToken::new(), |_| {}).unwrap();
    Log::Open(file).append(&record(seq, text)).unwrap();
    damage
}

#[test]
fn a_torn_last_line_is_cut_before_the_next_append() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    write(&path, &["one", "two"]);
    let whole = fs::read(&path).unwrap();
    let torn = br#"{"type":"user_message","seq":3,"conte"#;
    fs::write(&path, [whole.as_slice(), torn].concat()).unwrap();
    let damage = resume_and_add(&path, 3, "three");
    assert_eq!(damage.torn_bytes, torn.len() as u64);
    assert_eq!(texts(&path), (vec!["one".into(), "two".into(), "three".into()], Damage::default()));
}

#[test]
fn a_last_line_that_only_lacks_its_line_feed_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    write(&path, &["one", "two"]);
    let mut whole = fs::read(&path).unwrap();
    whole.pop();
    fs::write(&path, &whole).unwrap();
    resume_and_add(&path, 3, "three");
    assert_eq!(texts(&path).0, ["one", "two", "three"]);
}

#[test]
fn damaged_lines_are_skipped_and_named_and_the_file_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    write(&path, &["one", "two", "three"]);
    let text = fs::read_to_string(&path).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines[2] = "{\"type\":\"user_mess";
    let damaged = lines.join("\n") + "\n";
    fs::write(&path, &damaged).unwrap();
    let (texts, damage) = texts(&path);
    assert_eq!(texts, ["one", "three"]);
    assert_eq!(damage.warning().unwrap(), "session log: skipped damaged line 3");
    assert_eq!(fs::read_to_string(&path).unwrap(), damaged);
}

/// Long enough for several threads: order, numbers and the end are those of the file.
#[test]
fn a_long_log_reads_like_a_short_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let long: Vec<String> =
        (0..400).map(|n: usize| format!("{n} {}", "x".repeat(n * n % 90_000))).collect();
    let borrowed: Vec<&str> = long.iter().map(String::as_str).collect();
    write(&path, &borrowed);
    let whole = fs::read(&path).unwrap();
    assert!(whole.len() > 8 << 20);
    let mut lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    lines[300] = b"{\"type\":\"user_mess\n";
    lines.push(b"{\"type\":\"user_message\",\"seq");
    fs::write(&path, lines.concat()).unwrap();
    let (texts, damage) = texts(&path);
    assert!(texts.iter().eq(long.iter().filter(|text| !text.starts_with("299 "))));
    let torn_bytes = lines.last().unwrap().len() as u64;
    assert_eq!(damage, Damage { skipped: vec![301], torn_bytes, no_final_newline: false });
    assert_eq!(resume_and_add(&path, 401, "next"), damage);
    let (texts, damage) = super::tests::texts(&path);
    assert_eq!((texts.len(), texts.last().unwrap().as_str()), (400, "next"));
    assert_eq!(damage.skipped, [301]);
}

#[test]
fn kinds_of_a_later_version_are_kept_and_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    write(&path, &["one"]);
    let later = b"{\"type\":\"hologram\",\"seq\":2,\"at\":\"x\",\"depth\":3}\n";
    fs::write(&path, [fs::read(&path).unwrap().as_slice(), later].concat()).unwrap();
    assert_eq!(texts(&path), (vec!["one".into(), "hologram".into()], Damage::default()));
}

#[test]
fn what_is_no_session_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    for (content, why) in [
        ("", "it holds nothing"),
        ("{\"type\":\"sess", "it holds nothing but a part of a line"),
        ("hello\n", "line 1"),
        ("{\"type\":\"other\"}\n", "no \"type\":\"session\""),
        ("{\"type\":\"session\",\"version\":99}\n", "version 99"),
    ] {
        fs::write(&path, content).unwrap();
        let error = read_header(&path).unwrap_err().to_string();
        assert!(error.contains(why), "{content:?}: {error}");
    }
    let error = read_header(&folder.path().join("absent")).unwrap_err().to_string();
    assert!(error.contains("No such file"), "{error}");
}

#[test]
fn a_second_writer_is_told_who_holds_the_session() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    write(&path, &["one"]);
    let held = resume(&path, &CancellationToken::new(), |_| {}).unwrap();
    let error = resume(&path, &CancellationToken::new(), |_| {}).err().unwrap().to_string();
    assert!(error.contains(&format!("process {}", std::process::id())), "{error}");
    drop(held);
    assert!(resume(&path, &CancellationToken::new(), |_| {}).is_ok());
    assert!(!path.with_extension("lock").exists());
}

#[test]
fn a_lock_left_by_a_dead_process_is_taken_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    write(&path, &["one"]);
    fs::write(path.with_extension("lock"), "999999").unwrap();
    assert!(resume(&path, &CancellationToken::new(), |_| {}).is_ok());
}

#[test]
fn an_event_that_cannot_be_written_is_an_error_and_the_file_stays_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    write(&path, &["one"]);
    let (_, _, mut file) = resume(&path, &CancellationToken::new(), |_| {}).unwrap();
    // A file that is open for reading only refuses writes as a full disk does.
    file.file = fs::File::open(&path).unwrap();
    let mut log = Log::Open(file);
    assert!(matches!(log.append(&record(2, "two")), Err(LogError::Io { .. })));
    assert_eq!(texts(&path).0, ["one"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any text comes back, whatever separators it holds.
    #[test]
    fn texts_round_trip(texts in prop::collection::vec("(\\PC|[\r\n\t\u{2028}\u{2029}\u{85}\0]){0,20}", 1..6)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        let borrowed: Vec<&str> = texts.iter().map(String::as_str).collect();
        write(&path, &borrowed);
        prop_assert_eq!(super::tests::texts(&path), (texts, Damage::default()));
    }

    /// Cut anywhere, a log reads up to the cut and goes on cleanly after it.
    #[test]
    fn any_cut_is_survived(cut in any::<prop::sample::Index>()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        write(&path, &["one", "two", "three"]);
        let whole = fs::read(&path).unwrap();
        let first = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        let at = first + cut.index(whole.len() - first);
        fs::write(&path, &whole[..at]).unwrap();
        resume_and_add(&path, 9, "next");
        let (texts, damage) = texts(&path);
        prop_assert_eq!(damage, Damage::default());
        prop_assert_eq!(texts.last().map(String::as_str), Some("next"));
    }
}

/// A log of two lines that is open for going on, its folder and its path.
fn open_log() -> (tempfile::TempDir, PathBuf, LogFile) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    write(&path, &["one", "two"]);
    let (_, _, file) = resume(&path, &CancellationToken::new(), |_| {}).unwrap();
    (folder, path, file)
}

#[test]
fn a_file_that_is_not_the_own_one_any_more_is_left_alone() {
    type Tamper = fn(&Path);
    let cases: [(&str, Tamper); 5] = [
        ("was removed", |path| fs::remove_file(path).unwrap()),
        ("was removed", |path| fs::remove_dir_all(path.parent().unwrap()).unwrap()),
        ("was replaced", |path| {
            fs::rename(path, path.with_extension("old")).unwrap();
            fs::write(path, "mine\n").unwrap();
        }),
        ("0 bytes instead of", |path| fs::write(path, "").unwrap()),
        ("bytes instead of", |path| {
            fs::write(path, [fs::read(path).unwrap(), b"x".to_vec()].concat()).unwrap();
        }),
    ];
    for (expected, tamper) in cases {
        let (_folder, path, file) = open_log();
        tamper(&path);
        let before = fs::read(&path).ok();
        let error = Log::Open(file).append(&record(3, "three")).unwrap_err();
        assert!(matches!(error, LogError::Changed { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(fs::read(&path).ok(), before, "{expected}");
    }
}

#[test]
fn a_lock_of_somebody_else_is_left_alone() {
    let (_folder, path, file) = open_log();
    let lock = path.with_extension("lock");
    fs::remove_file(&lock).unwrap();
    fs::write(&lock, "1").unwrap();
    drop(file);
    assert_eq!(fs::read_to_string(lock).unwrap(), "1");
}

#[test]
fn an_event_is_one_write() {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixDatagram;
    let (_folder, _path, mut log) = open_log();
    // Every write to such a socket is one packet.
    let (end, other) = UnixDatagram::pair().unwrap();
    log.file = File::from(OwnedFd::from(end));
    let mut packet = vec![0; 200_000];
    for text in ["short", &"long ".repeat(20_000)] {
        let line = record(3, text).to_line().unwrap();
        log.write(&line).unwrap();
        let size = other.recv(&mut packet).unwrap();
        assert!(packet[..size] == line[..], "{size} bytes of {}", line.len());
    }
}

#[test]
fn a_workspace_that_is_gone_is_not_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = folder.path().join("work");
    let path = workspace.join(".xsh/sessions/s.jsonl");
    let cwd = workspace.display().to_string();
    let header = Header { cwd, ..header() };
    let mut log = Log::Planned { path, header, refuge: None };
    assert!(matches!(log.append(&record(1, "one")), Err(LogError::Changed { .. })));
    assert!(!workspace.exists());
}

#[test]
fn a_file_system_that_cannot_sync_is_no_fault_but_a_disk_that_fails_is() {
    // Nothing can be synced on a device of this kind.
    let device = OpenOptions::new().write(true).open("/dev/full").unwrap();
    assert!(sync_data(&device).is_ok());
    fail_syncs(io::ErrorKind::Other);
    let (_folder, _path, file) = open_log();
    let mut log = Log::Open(file);
    assert!(matches!(log.sync(), Err(LogError::Io { .. })));
}

#[test]
fn reading_ends_when_it_is_to_stop() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let text = "x".repeat(1 << 20);
    write(&path, &[&*text; 20]);
    let stop = CancellationToken::new();
    let mut events = 0;
    let read = read(&path, &stop, |_| {
        events += 1;
        stop.cancel();
    });
    assert!(matches!(read, Err(LogError::Io { .. })));
    assert!((1..20).contains(&events), "{events}");
    assert!(resume(&path, &stop, |_| {}).is_err());
    let (_, _, file) = resume(&path, &CancellationToken::new(), |_| {}).unwrap();
    assert_eq!(file.len, path.metadata().unwrap().len(), "the lock was let go, nothing was cut");
}
