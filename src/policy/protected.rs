//! Files that other programs load and run by themselves: whoever writes one has something run
//! later, outside of every sandbox and unasked.
//!
//! Pure data, with one question about it. The permissions ask before a tool writes such a file, the
//! sandbox keeps commands from it.

use std::path::Path;

/// Files and folders, relative to the workspace; a folder stands for all that is in it. The first
/// part is found in projects, the second matters where the workspace is a home folder.
pub const PROTECTED: &[&str] = &[
    // As a file it says where the repository is; what lies in the folder is named one by one.
    ".git",
    ".git/hooks",
    ".git/config",
    ".git/config.worktree",
    ".git/commondir",
    ".xsh",
    ".mcp.json",
    ".claude",
    ".codex",
    ".gemini",
    ".cursor",
    ".vscode",
    ".idea",
    ".zed",
    ".devcontainer",
    ".envrc",
    ".husky",
    ".bashrc",
    ".bash_aliases",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".xprofile",
    ".pam_environment",
    ".gitconfig",
    ".npmrc",
    ".netrc",
    ".ssh",
    ".config/autostart",
    ".config/environment.d",
    ".config/fish",
    ".config/git",
    ".config/systemd",
    ".config/xsh",
];

/// Folders below `.git` that hold repositories of their own, with hooks and settings.
pub const INNER: &[&str] = &["modules", "worktrees"];

/// What of a repository is protected.
pub const OF_GIT: &[&str] = &["hooks", "config", "config.worktree", "commondir"];

/// May a write to this path have something run? The path is relative to the workspace, links
/// resolved. Upper and lower case count as the same, as they do on some file systems. What
/// concerns git is protected at any depth, since repositories lie in repositories.
pub fn is_protected(relative: &Path) -> bool {
    let path: Vec<String> =
        relative.iter().map(|part| part.to_string_lossy().to_ascii_lowercase()).collect();
    let listed = PROTECTED.iter().filter(|listed| **listed != ".git");
    let mut listed = listed.map(|listed| listed.split('/').collect::<Vec<_>>());
    let begins =
        |with: &[&str]| path.len() >= with.len() && path.iter().zip(with).all(|(a, b)| a == b);
    listed.any(|listed| begins(&listed)) || touches_git(&path)
}

fn touches_git(path: &[String]) -> bool {
    path.iter().enumerate().filter(|(_, name)| *name == ".git").any(|(at, _)| {
        match path.get(at + 1..).unwrap_or_default() {
            [] => true,
            [first, inner @ ..] if INNER.contains(&first.as_str()) => {
                inner.iter().any(|name| OF_GIT.contains(&name.as_str()))
            }
            [first, ..] => OF_GIT.contains(&first.as_str()),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_run_is_protected() {
        for (path, expected) in [
            (".git", true),
            ("sub/.git", true),
            (".git/hooks", true),
            (".git/hooks/pre-commit", true),
            ("vendor/lib/.GIT/Hooks/post-checkout", true),
            (".git/config", true),
            (".git/commondir", true),
            (".git/modules/a/b/hooks/x", true),
            (".git/worktrees/w/config.worktree", true),
            (".git/index", false),
            (".git/refs/heads/config", false),
            (".gitignore", false),
            ("git/hooks/x", false),
            (".vscode/tasks.json", true),
            (".VSCode", true),
            (".vscode2/tasks.json", false),
            ("sub/.vscode/tasks.json", false),
            (".envrc", true),
            (".envrc.sample", false),
            (".config/git/config", true),
            (".config/other", false),
            ("src/main.rs", false),
            ("", false),
        ] {
            assert_eq!(is_protected(Path::new(path)), expected, "{path}");
        }
    }
}
