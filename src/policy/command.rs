//! A small, strict reader of command lines: it takes a compound command apart into simple ones, or
//! says that it does not fully understand it.
//!
//! What may run unasked is judged on this, so whatever could make the shell do something else than
//! the words say is not understood: expansions, substitutions, redirections to files, control flow,
//! variables set before a command, escapes. Nothing dangerous follows from a command that is not
//! understood: it is asked about.

/// A word as the program gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Without its quotes.
    pub text: String,
    /// It holds an unquoted wildcard, so it can become any number of other words.
    pub wild: bool,
}

/// One simple command: its name and arguments.
pub type Part = Vec<Word>;

/// The simple commands of a command line, in their order. The error says what is not understood.
pub fn read(text: &str) -> Result<Vec<Part>, &'static str> {
    if text.chars().any(is_odd) {
        return Err("a character that cannot be seen");
    }
    let mut parts = Vec::new();
    let mut words: Part = Vec::new();
    let mut rest = text;
    // An operator like `&&` waits for its second command.
    let mut waits = false;
    loop {
        rest = rest.trim_start_matches([' ', '\t']);
        if let Some(after) = harmless_redirection(rest) {
            rest = after;
        } else if let Some((separator, after)) = separator(rest)? {
            if words.is_empty() && separator != "\n" {
                return Err("an empty command");
            }
            if !words.is_empty() {
                parts.push(checked(std::mem::take(&mut words))?);
                waits = matches!(separator, "&&" | "||" | "|");
            }
            rest = after;
        } else if rest.is_empty() {
            break;
        } else {
            let (next, after) = word(rest)?;
            words.push(next);
            rest = after;
        }
    }
    if !words.is_empty() {
        parts.push(checked(words)?);
        waits = false;
    }
    if waits || parts.is_empty() { Err("an empty command") } else { Ok(parts) }
}

/// Control characters, blanks that are no blanks to the shell, and what has no width.
fn is_odd(c: char) -> bool {
    let invisible = matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}'
    );
    let blank = c.is_whitespace() && !matches!(c, ' ' | '\t' | '\n');
    invisible || blank || (c.is_control() && !matches!(c, '\t' | '\n'))
}

/// Redirections that touch no file.
const HARMLESS: &[&str] = &[
    "2>&1",
    "1>&2",
    ">&2",
    "2>/dev/null",
    "2> /dev/null",
    "1>/dev/null",
    "1> /dev/null",
    "&>/dev/null",
    "&> /dev/null",
    ">/dev/null",
    "> /dev/null",
    "</dev/null",
    "< /dev/null",
];

fn harmless_redirection(rest: &str) -> Option<&str> {
    let after = HARMLESS.iter().find_map(|form| rest.strip_prefix(form))?;
    let ends = after.chars().next().is_none_or(|c| " \t\n;|&".contains(c));
    ends.then_some(after)
}

type Separated<'a> = Option<(&'static str, &'a str)>;

fn separator(rest: &str) -> Result<Separated<'_>, &'static str> {
    let found = ["&&", "||", ";", "|", "&", "\n"]
        .into_iter()
        .find_map(|separator| Some((separator, rest.strip_prefix(separator)?)));
    let Some((separator, after)) = found else { return Ok(None) };
    let glued = match separator {
        ";" => after.starts_with([';', '&']),
        "|" => after.starts_with('&'),
        "&" => after.starts_with('>'),
        _ => false,
    };
    if glued { Err("an operator") } else { Ok(Some((separator, after))) }
}

/// Reads one word from the start of the text.
fn word(text: &str) -> Result<(Word, &str), &'static str> {
    let mut word = Word { text: String::new(), wild: false };
    let mut rest = text;
    let mut start = true;
    while let Some(c) = rest.chars().next() {
        if " \t\n;|&".contains(c) {
            break;
        }
        let after = rest.strip_prefix(c).unwrap_or_default();
        rest = match c {
            '\'' | '"' => {
                let (inside, after) = after.split_once(c).ok_or("a quote that is not closed")?;
                if c == '"' && inside.contains(['$', '`', '\\']) {
                    return Err("an expansion or escape");
                }
                word.text.push_str(inside);
                after
            }
            _ => {
                let before = word.text.chars().next_back();
                refuse(c, start, before)?;
                word.wild |= matches!(c, '*' | '?' | '[');
                word.text.push(c);
                after
            }
        };
        start = false;
    }
    Ok((word, rest))
}

/// Refuses an unquoted character that means something to the shell.
fn refuse(c: char, start: bool, before: Option<char>) -> Result<(), &'static str> {
    match c {
        '$' | '`' => Err("an expansion"),
        '\\' => Err("an escape"),
        '<' | '>' => Err("a redirection"),
        '(' | ')' => Err("a subshell or function"),
        '{' | '}' => Err("braces"),
        '#' if start => Err("a comment"),
        '~' if start || matches!(before, Some('=' | ':')) => Err("an expansion"),
        _ => Ok(()),
    }
}

/// Words that begin something other than a simple command.
const RESERVED: &[&str] = &[
    "!", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if",
    "in", "select", "then", "time", "until", "while", "[[", "]]",
];

/// A part, if its first word is nothing but the name of a command.
fn checked(part: Part) -> Result<Part, &'static str> {
    let name = part.first().map(|word| (word.text.as_str(), word.wild));
    match name {
        None | Some(("", _)) => Err("a command without a name"),
        Some((_, true)) => Err("a wildcard in the command's name"),
        Some((name, _)) if RESERVED.contains(&name) => Err("control flow"),
        Some((name, _)) if name.contains('=') => Err("a variable that is set before a command"),
        Some(_) => Ok(part),
    }
}

/// A part as a command line that reads as exactly this part; none where there is none that is good
/// to look at.
pub fn render(part: &[Word]) -> Option<String> {
    let words: Option<Vec<String>> = part.iter().map(quoted).collect();
    words.map(|words| words.join(" "))
}

fn quoted(word: &Word) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "%+,-./:=@_".contains(c);
    if word.wild || word.text.chars().any(char::is_control) {
        None
    } else if !word.text.is_empty() && word.text.chars().all(plain) {
        Some(word.text.clone())
    } else if !word.text.contains('\'') {
        Some(format!("'{}'", word.text))
    } else {
        let inert = !word.text.contains(['"', '$', '`', '\\']);
        inert.then(|| format!("\"{}\"", word.text))
    }
}

/// Commands that change nothing and run nothing else, word for word. A flag or argument more could
/// do both (`git diff --output=…`, `find -exec`, `sort -o`), so there are no patterns here.
const SAFE: &[&str] = &[
    "pwd", "ls", "ls -1", "ls -a", "ls -A", "ls -l", "ls -la", "ls -al", "ls -lh", "ls -lah",
    "whoami", "id", "date", "uname", "uname -a", "true", "false",
];

/// The same as long as they are confined: git runs programs that the settings of a repository name,
/// which may have come with it.
const SAFE_CONFINED: &[&str] = &[
    "git status",
    "git status -s",
    "git status -sb",
    "git status --short",
    "git status --porcelain",
    "git branch --show-current",
    "git rev-parse HEAD",
    "git rev-parse --show-toplevel",
];

/// Is this part, as a whole, one of the commands that are known to be harmless, in the sandbox or
/// without?
pub fn is_safe(part: &[Word], confined: bool) -> bool {
    let is = |form: &&str| form.split(' ').eq(part.iter().map(|word| word.text.as_str()));
    SAFE.iter().any(is) || (confined && SAFE_CONFINED.iter().any(is))
}

#[cfg(test)]
mod tests;
