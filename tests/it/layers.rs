//! The map in AGENTS.md, held against the sources.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Layers by module, the longest match counting. Mirrors the table in AGENTS.md; what is listed
/// nowhere is a fault, so that a new module gets its place.
const LAYERS: &[(&str, u8)] = &[
    ("message", 0),
    ("event", 0),
    ("update", 0),
    ("error", 0),
    ("hash", 0),
    ("brief", 0),
    ("turn::machine", 1),
    ("turn::repeat", 1),
    ("turn::schedule", 1),
    ("session::encoded", 1),
    ("session::replaced", 1),
    ("session::speaker", 1),
    ("session::state", 1),
    ("policy", 1),
    ("mask", 1),
    ("tools::clean", 1),
    ("tools::custom::examples", 1),
    ("tools::diff", 1),
    ("tools::nearest", 1),
    ("tools::output", 1),
    ("tools::text", 1),
    ("compact::plan", 1),
    ("compact::summary", 1),
    ("client::assemble", 1),
    ("client::calls", 1),
    ("client::chunk", 1),
    ("client::classify", 1),
    ("client::decode", 1),
    ("client::details", 1),
    ("client::lax", 1),
    ("client::negotiate", 1),
    ("client::objects", 1),
    ("client::profile", 1),
    ("client::request", 1),
    ("client::retry", 1),
    ("client::schemas", 1),
    ("client::sse", 1),
    ("client::surrogate", 1),
    ("client::textcalls", 1),
    ("client::think", 1),
    ("prompt", 1),
    ("suggest", 1),
    ("tools::arguments", 1),
    ("tools::lenient", 1),
    ("tools::matching", 1),
    ("tools::schema", 1),
    ("tools::snapshot::changes", 1),
    ("tools::strict", 1),
    ("ui::sanitize", 1),
    // A word that lies in a module of effects.
    ("tools::Effect", 0),
    ("client", 2),
    ("tools", 2),
    ("process", 2),
    ("jobs", 2),
    ("sandbox::git", 1),
    ("sandbox", 2),
    ("session", 2),
    ("agent", 3),
    ("turn", 3),
    ("compact", 3),
    ("demo", 3),
    ("main", 4),
    ("lib", 4),
    ("cli", 4),
    ("commands", 4),
    ("config", 4),
    ("desk", 4),
    ("headless", 4),
    ("run", 4),
    ("start", 4),
    ("repl", 4),
    ("ui", 4),
];

/// A source file that is no test: its module path and its text without comments.
struct Source {
    module: String,
    text: String,
    lines: usize,
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = walkdir::WalkDir::new(&root).sort_by_file_name().into_iter().flatten();
    let rust = files.filter(|file| file.path().extension().is_some_and(|end| end == "rs"));
    rust.map(walkdir::DirEntry::into_path)
        .filter(|path| !path.iter().any(|part| part == "tests.rs" || part == "tests"))
        .map(|path| source(&root, &path))
        .collect()
}

fn source(root: &Path, path: &Path) -> Source {
    let name = path.strip_prefix(root).expect("below src").with_extension("");
    let parts: Vec<_> = name.iter().filter_map(|part| part.to_str()).collect();
    let module = parts.join("::").trim_end_matches("::mod").to_owned();
    let whole = fs::read_to_string(path).expect("a source file");
    let code = whole.lines().filter(|line| !line.trim_start().starts_with("//"));
    Source { module, text: code.collect::<Vec<_>>().join("\n"), lines: whole.lines().count() }
}

/// The layer of the module that a path begins with, and that module.
fn layer(path: &str) -> Option<(u8, &'static str)> {
    let inside = |module: &str| {
        path == module || path.strip_prefix(module).is_some_and(|rest| rest.starts_with("::"))
    };
    let matches = LAYERS.iter().filter(|(module, _)| inside(module));
    matches.max_by_key(|(module, _)| module.len()).map(|(module, layer)| (*layer, *module))
}

/// All module paths that a source names after `crate::`, groups in braces taken apart.
fn dependencies(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for rest in text.split("crate::").skip(1) {
        expand("", rest, &mut found);
    }
    found
}

/// Reads `a::b::{c::D, e}` from the start of a text and adds `a::b::c`, `a::b::e` ….
fn expand(prefix: &str, text: &str, found: &mut Vec<String>) {
    let end =
        text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).unwrap_or(text.len());
    let (path, rest) = text.split_at(end);
    let path = format!("{prefix}{path}");
    let Some(group) = rest.strip_prefix('{').filter(|_| path.is_empty() || path.ends_with("::"))
    else {
        return found.push(path.trim_end_matches(':').to_owned());
    };
    let mut depth = 0;
    let close = group.find(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        depth < 0
    });
    let inner = group.get(..close.unwrap_or(group.len())).unwrap_or_default();
    for item in top_level(inner) {
        expand(&path, item.trim(), found);
    }
}

/// Splits at the commas that are in no braces.
fn top_level(text: &str) -> Vec<&str> {
    let mut depth = 0;
    text.split(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    })
    .filter(|item| !item.trim().is_empty())
    .collect()
}

#[test]
fn groups_are_taken_apart() {
    let text = "use crate::{event::Event, tools::{paths::Workspace, read}};\nlet x = crate::error::Error::new();";
    let expected = ["event::Event", "tools::paths::Workspace", "tools::read", "error::Error::new"];
    assert_eq!(dependencies(text), expected);
    assert_eq!(layer("client::sse::Decoder"), Some((1, "client::sse")));
    assert_eq!(layer("client::http"), Some((2, "client")));
    assert_eq!(layer("prompts"), None);
}

#[test]
fn every_module_has_its_layer() {
    for source in sources() {
        assert!(layer(&source.module).is_some(), "give `{}` a layer", source.module);
    }
}

#[test]
fn dependencies_point_down_only() {
    let mut faults = Vec::new();
    for source in sources() {
        let Some((own, own_module)) = layer(&source.module) else { continue };
        for path in dependencies(&source.text) {
            let Some((other, module)) = layer(&path) else { continue };
            if other > own && module != own_module {
                faults.push(format!("{} (layer {own}) uses {path} (layer {other})", source.module));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

/// Each module that `matches` and says one of `words`, with the word.
fn sayings(matches: impl Fn(&str) -> bool, words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources().iter().filter(|source| matches(&source.module)) {
        let said = words.iter().filter(|word| source.text.contains(**word));
        found.extend(said.map(|word| format!("`{}` says `{word}`", source.module)));
    }
    found
}

#[test]
fn effects_have_one_place_each() {
    let places: &[(&[&str], &[&str])] = &[
        (&["process", "sandbox::enter::command"], &["std::process::Command", "tokio::process"]),
        (&["config"], &["env::var", "env::current_dir"]),
        (&["session::clock"], &["SystemTime::now", "Timestamp::now"]),
        (&["ui"], &["println!", "print!("]),
        // The shell hands the screens their output, the line editor owns the terminal's modes.
        // The entrance of the sandbox answers the program itself.
        (&["ui", "run", "repl::editor", "repl::tty", "sandbox::enter"], &["stdout()"]),
        (&["sandbox::enter::sys"], &["unsafe {", "unsafe fn"]),
        (&[], &["todo!(", "unimplemented!(", "HashMap", "HashSet"]),
    ];
    let mut faults = Vec::new();
    for (allowed, words) in places {
        let elsewhere = |module: &str| !allowed.iter().any(|prefix| module.starts_with(prefix));
        faults.extend(sayings(elsewhere, words));
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn the_pure_layers_do_nothing_but_compute() {
    let effects = [
        "std::fs",
        "std::io::Read",
        "std::io::Write",
        "TcpStream",
        "UdpSocket",
        "std::time::Instant",
        "std::thread",
        "tokio::",
        "async fn",
        "Mutex",
        "RwLock",
    ];
    let faults = sayings(|module| matches!(layer(module), Some((0 | 1, _))), &effects);
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn files_stay_short() {
    let long: BTreeMap<_, _> = sources()
        .into_iter()
        .filter(|source| source.lines > 500)
        .map(|source| (source.module, source.lines))
        .collect();
    assert!(long.is_empty(), "split these: {long:?}");
}
