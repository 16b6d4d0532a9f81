use std::path::PathBuf;
use std::time::SystemTime;

use super::{context, models, sessions, tools};
use crate::agent::{ContextReport, Window};
use crate::desk::{Listing, Offer};
use crate::session::origin::Origin;
use crate::session::store::{self, Listed};

#[test]
fn the_sessions() {
    let line = |id: &str, title: &str| Listed {
        id: id.into(),
        path: PathBuf::new(),
        modified: SystemTime::UNIX_EPOCH,
        size: 0,
        created_at: "2026-01-01".into(),
        cwd: String::new(),
        title: title.into(),
        origin: if id == "b2" { Origin::Foreign } else { Origin::Own },
    };
    let found = vec![line("a1", "fix it\r* c3"), line("b2", "try")];
    let listing = store::Listing { sessions: found, unreadable: 0, older: 3 };
    assert_eq!(
        sessions(&listing, "b2"),
        "  a1  2026-01-01  fix it * c3\n* b2  2026-01-01  try  [not written here]\n(3 older sessions not shown)"
    );
    assert_eq!(
        sessions(&store::Listing::default(), "x"),
        "No sessions are saved in this workspace."
    );
}

#[test]
fn the_tools() {
    let table = [("read".to_owned(), "Reads.".to_owned()), ("grep_it".into(), "Searches.".into())];
    assert_eq!(tools(&table), "read     Reads.\ngrep_it  Searches.");
}

#[test]
fn the_context() {
    let report = ContextReport {
        tokens: 12_000,
        window: Window { tokens: Some(128_000), origin: "built-in table".into() },
        assumed: 128_000,
        compact_at: Some(102_400),
        parts: vec![("system prompt".into(), 900), ("tools".into(), 1_200)],
    };
    assert_eq!(
        context(&report),
        "12k of 128k tokens in use, 9 % (built-in table)\n\
         older messages are summarised at 102k\n  system prompt  900\n  tools          1.2k"
    );
    let unknown = ContextReport { tokens: 12, assumed: 32_000, ..ContextReport::default() };
    let expected = "12 tokens in use; the model's window is not known (assumed 32k; set it with \
                    --context-window)";
    assert_eq!(context(&unknown), expected);
}

#[test]
fn the_models() {
    let price = crate::client::profile::models::find("openai", "gpt-6-luna").map(|m| m.price);
    let offers = vec![
        Offer { loaded: true, ..Offer::new("ollama", "qwen") },
        Offer { window: Some(272_000), price, ..Offer::new("openai", "gpt-6-luna") },
    ];
    let listing = Listing { offers, notes: vec!["ollama lists nothing: no answer".to_owned()] };
    let now = ("ollama".to_owned(), "qwen".to_owned());
    let expected = "qwen (ollama)
  1 * qwen                   ?  loaded
  2   openai/gpt-6-luna   272k  $0.1 in, $0.5 out
ollama lists nothing: no answer
/model NUMBER or /model NAME switches; prices are per million tokens";
    assert_eq!(models(&listing, &now), expected);
}
