//! Stand-in until merge.
use super::*;
/// x
pub struct Shell;
/// x
#[derive(serde::Deserialize, JsonSchema)]
pub struct Args {
    /// The command.
    pub command: String,
}
impl Tool for Shell {
    const NAME: &'static str = "shell";
    const DESCRIPTION: &'static str = "Runs a command.";
    type Args = Args;
    fn effect(a: &Args) -> Effect {
        Effect::Exec(a.command.clone())
    }
    fn subject(a: &Args) -> String {
        a.command.clone()
    }
    #[expect(clippy::disallowed_methods, reason = "stand-in")]
    fn run(a: Args, c: &ToolContext<'_>) -> Outcome {
        let o = std::process::Command::new("bash").arg("-c").arg(a.command).current_dir(&c.workspace.root).output().unwrap();
        Outcome::ok(format!("{}[exit code {}]", String::from_utf8_lossy(&o.stdout), o.status.code().unwrap_or(-1)), "ran")
    }
}
