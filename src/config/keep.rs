//! Writes a choice into the user's own file, and leaves everything else in it as it is.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use toml::de::DeTable;

use crate::error::Error;

/// Sets these top-level keys in `config.toml` of the user's folder, which is made where it is not
/// there. Gives the file's path.
pub fn keep(folder: &Path, values: &[(&str, &str)]) -> Result<PathBuf, Error> {
    change(folder, |text| edited(text, values))
}

/// Adds rules to `permissions.allow`, likewise.
pub fn allow(folder: &Path, rules: &[String]) -> Result<PathBuf, Error> {
    change(folder, |text| {
        rules.iter().try_fold(text.to_owned(), |text, rule| allowing(&text, rule))
    })
}

fn change(folder: &Path, edit: impl Fn(&str) -> Result<String, String>) -> Result<PathBuf, Error> {
    let path = folder.join("config.toml");
    let failed = |e: io::Error| Error::failed(format!("cannot keep this in {}", path.display()), e);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == io::ErrorKind::NotFound => String::new(),
        Err(e) => return Err(failed(e)),
    };
    let text = edit(&text)
        .map_err(|why| Error::failed(format!("cannot keep this in {}", path.display()), why))?;
    write(&path, &text).map_err(failed)?;
    Ok(path)
}

/// The text with these keys set: in their places where they are there, else at the beginning. The
/// result says what is wrong with a text that is no TOML.
fn edited(text: &str, values: &[(&str, &str)]) -> Result<String, String> {
    let mut text = text.to_owned();
    for (key, value) in values.iter().rev() {
        let value = toml::Value::String((*value).to_owned()).to_string();
        let table = DeTable::parse(&text).map_err(|error| error.message().to_owned())?;
        let place = table.get_ref().iter().find(|(name, _)| name.get_ref() == *key);
        if let Some(span) = place.map(|(_, value)| value.span()) {
            text.replace_range(span, &value);
        } else {
            // Behind a byte order mark, before everything else: there no table has begun.
            let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
            text.insert_str(start, &format!("{key} = {value}\n"));
        }
    }
    Ok(text)
}

/// The text with one more rule in `permissions.allow`. Whatever way the section is written, the
/// result is read again and holds the old settings and the rule, or it is not taken.
fn allowing(text: &str, rule: &str) -> Result<String, String> {
    let read = |text: &str| {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        text.parse::<toml::Table>().map_err(|error| error.message().to_owned())
    };
    let mut wanted = read(text)?;
    let section = wanted.entry("permissions").or_insert_with(|| toml::Table::new().into());
    let list = section.as_table_mut().ok_or("`permissions` is no section")?;
    let list = list.entry("allow").or_insert_with(|| Vec::<toml::Value>::new().into());
    let list = list.as_array_mut().ok_or("`permissions.allow` is no list")?;
    let value = toml::Value::String(rule.to_owned());
    if list.contains(&value) {
        return Ok(text.to_owned());
    }
    list.insert(0, value.clone());
    let tries = with_rule(text, &value.to_string());
    let good = |text: &String| read(text).is_ok_and(|table| table == wanted);
    tries.into_iter().find(good).ok_or_else(|| "the file is written in an unusual way".to_owned())
}

/// Ways to add a rule, for the ways in which the section can be written: before the other rules of
/// the list, as a list below the header, within braces, as a section at the end, as a dotted key.
fn with_rule(text: &str, rule: &str) -> Vec<String> {
    let mut tries = Vec::new();
    let mut insert = |at: usize, what: String| {
        if let Some((before, after)) = text.split_at_checked(at) {
            tries.push(format!("{before}{what}{after}"));
        }
    };
    let table = DeTable::parse(text).ok();
    let section = table.as_ref().and_then(|table| table.get_ref().get("permissions"));
    let values = section.and_then(|section| section.get_ref().as_table());
    if let Some(list) = values.and_then(|values| values.get("allow")) {
        let start = list.span().start + 1;
        insert(start, format!("{}{rule}, ", indent(text, start)));
        insert(start, rule.to_owned());
    }
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        offset += line.len();
        if line.split('#').next().is_some_and(|header| header.trim() == "[permissions]") {
            let end = if line.ends_with('\n') { "" } else { "\n" };
            insert(offset, format!("{end}allow = [{rule}]\n"));
        }
    }
    if let Some(section) = section {
        insert(section.span().start + 1, format!(" allow = [{rule}],"));
    }
    let gap = match text {
        "" => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    insert(text.len(), format!("{gap}[permissions]\nallow = [{rule}]\n"));
    insert(
        if text.starts_with('\u{feff}') { 3 } else { 0 },
        format!("permissions.allow = [{rule}]\n"),
    );
    tries
}

/// The line end and blanks before the first rule of a list that has its rules on lines of their own.
fn indent(text: &str, start: usize) -> &str {
    let rest = text.get(start..).unwrap_or_default();
    let blanks = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
    let before = rest.get(..blanks).unwrap_or_default();
    let is_end = rest.get(blanks..).is_some_and(|rest| rest.starts_with(']'));
    if before.contains('\n') && !is_end { before } else { "" }
}

/// Puts the file in place in one step; a link stays a link.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = target.parent().unwrap_or(Path::new("."));
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    if let Ok(old) = fs::metadata(&target) {
        file.as_file().set_permissions(old.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(&target).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests;
