use std::collections::VecDeque;
use std::io::ErrorKind;
use std::path::Path;

use tokio::sync::mpsc;

use super::*;
use crate::cli::{self, Parsed};
use crate::client::{Model, Pending, Request};
use crate::config::resolve::{World, resolve};
use crate::message::{Delta, ToolCall};
use crate::session::log::tests::{fail_syncs, syncs};
use crate::session::store::Store;
use crate::start::{self, Start, Wires};

/// Replies at once, from a list.
struct Listed(VecDeque<Reply>);

impl Model for Listed {
    fn complete<'a>(
        &'a mut self,
        _: Request,
        _: &'a mut (dyn FnMut(Delta) + Send),
        _: &'a CancellationToken,
    ) -> Pending<'a> {
        let reply = self.0.pop_front().unwrap_or_default();
        Box::pin(async move { Ok(reply) })
    }
}

fn agent(workspace: &Path, replies: Vec<Reply>) -> (Agent, mpsc::UnboundedReceiver<Update>) {
    let Ok(Parsed::Run(args)) = cli::parse(["xsh", "--permission-mode", "full"]) else { panic!() };
    let workspace = workspace.to_owned();
    let world = World { workspace: workspace.clone(), ..World::default() };
    let config = resolve(&args, &world).unwrap();
    let store = Store::open(&workspace, None, true).0;
    let (updates, shown) = mpsc::unbounded_channel();
    let (args, warnings, notes) = (*args, Vec::new(), Vec::new());
    let rules = crate::policy::rules::Rules::default();
    let sandbox = crate::sandbox::Sandbox::none("a test");
    let start = Start {
        config,
        world,
        args,
        store,
        resume: None,
        foreign: None,
        rules,
        sandbox,
        warnings,
        notes,
    };
    let mut agent = start::demo_agent(start, Wires { updates, questions: None }).unwrap();
    agent.mind.model = Box::new(Listed(replies.into()));
    (agent, shown)
}

fn turn(agent: &mut Agent) -> TurnSummary {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(agent.turn("go", &CancellationToken::new())).unwrap()
}

fn text(content: &str) -> Reply {
    Reply { content: content.into(), ..Reply::default() }
}

fn glob() -> Reply {
    let arguments = r#"{"pattern":"*"}"#.into();
    let call = ToolCall { id: "c".into(), name: "glob".into(), arguments, ..ToolCall::default() };
    Reply { tool_calls: vec![call], ..Reply::default() }
}

#[test]
fn a_turn_is_synced_once_when_it_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let (mut agent, _shown) = agent(folder.path(), vec![glob(), text("one"), text("two")]);
    syncs();
    for _ in 0..2 {
        assert_eq!(turn(&mut agent).ending, Ending::Completed);
        assert_eq!(syncs(), 1);
    }
}

#[test]
fn a_turn_that_the_disk_does_not_take_has_failed() {
    let folder = tempfile::tempdir().unwrap();
    let (mut agent, _shown) = agent(folder.path(), vec![text("one")]);
    fail_syncs(ErrorKind::StorageFull);
    let summary = turn(&mut agent);
    assert_eq!(summary.ending, Ending::Error);
    assert!(summary.detail.contains("cannot be written"), "{}", summary.detail);
    assert_eq!(summary.answer, "one", "the answer is there all the same");
}
