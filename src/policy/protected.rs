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

/// Likewise, but made by this program itself: protected once they are there.
pub const ONCE_THERE: &[&str] = &[".local/state/xsh"];

/// Folders below `.git` that hold repositories of their own, with hooks and settings.
pub const INNER: &[&str] = &["modules", "worktrees"];

/// What of a repository is protected.
pub const OF_GIT: &[&str] = &["hooks", "config", "config.worktree", "commondir"];

/// May a write to this path have something run? The path is relative to the workspace, links
/// resolved. Upper and lower case count as the same, as they do on some file systems. What
/// concerns git is protected at any depth, since repositories lie in repositories: all of `.git` (a
/// rebase runs what its list says), and the file by which git takes any folder for a repository.
pub fn is_protected(relative: &Path) -> bool {
    let path: Vec<String> =
        relative.iter().map(|part| part.to_string_lossy().to_ascii_lowercase()).collect();
    let listed = PROTECTED.iter().chain(ONCE_THERE);
    let mut listed = listed.map(|listed| listed.split('/').collect::<Vec<_>>());
    let begins =
        |with: &[&str]| path.len() >= with.len() && path.iter().zip(with).all(|(a, b)| a == b);
    listed.any(|listed| begins(&listed))
        || path.iter().any(|name| name == ".git")
        || path.last().is_some_and(|name| name == "head")
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
            (".git/rebase-merge/git-rebase-todo", true),
            ("sub/.git/index", true),
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
            (".local/state/xsh/trusted", true),
            (".local/state/other", false),
            ("vendor/Head", true),
            ("head.rs", false),
            ("src/main.rs", false),
            ("", false),
        ] {
            assert_eq!(is_protected(Path::new(path)), expected, "{path}");
        }
    }
}
