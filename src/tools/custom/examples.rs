//! Three small tools that come along as examples, to be installed and changed (`xsh tools add`). They
//! need nothing but `sh`, `awk`, `date`, `sort`, `tr` and `wc`.

/// A tool of the examples: its name and its files.
pub struct Example {
    /// The name of the tool.
    pub name: &'static str,
    /// The tool file.
    pub definition: &'static str,
    /// The program, which is named like the tool.
    pub program: &'static str,
}

/// All of them.
pub const EXAMPLES: [Example; 3] = [
    Example {
        name: "calculator",
        definition: include_str!("examples/calculator.toml"),
        program: include_str!("examples/calculator"),
    },
    Example {
        name: "clock",
        definition: include_str!("examples/clock.toml"),
        program: include_str!("examples/clock"),
    },
    Example {
        name: "text_stats",
        definition: include_str!("examples/text_stats.toml"),
        program: include_str!("examples/text_stats"),
    },
];
