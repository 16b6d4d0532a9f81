//! What xsh promises about its speed and size, measured: one file per claim.
//!
//! `cargo bench --bench claims` measures all, `cargo bench --bench claims -- resume idle` some. Each
//! figure stands beside its target; nothing is judged here, because a busy machine is no fault.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench stops at the first fault, prints its figures and starts what it measures"
)]

mod answer;
mod binary;
mod grep;
mod headless;
mod idle;
mod prompt;
mod resume;
mod sandbox;
mod sessions;
mod soak;
mod steps;
mod support;
mod version;

const CLAIMS: [(&str, fn()); 12] = [
    ("version", version::run),
    ("prompt", prompt::run),
    ("headless", headless::run),
    ("idle", idle::run),
    ("steps", steps::run),
    ("resume", resume::run),
    ("sessions", sessions::run),
    ("soak", soak::run),
    ("sandbox", sandbox::run),
    ("grep", grep::run),
    ("answer", answer::run),
    ("binary", binary::run),
];

fn main() {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --all-targets` starts this too, to see that it builds.
    if !args.iter().any(|arg| arg == "--bench") {
        return;
    }
    args.retain(|arg| !arg.starts_with('-'));
    support::title();
    for (name, run) in CLAIMS {
        if args.is_empty() || args.iter().any(|arg| arg == name) {
            run();
        }
    }
}
