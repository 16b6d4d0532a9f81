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
    let path = folder.join("config.toml");
    let failed = |e: io::Error| Error::failed(format!("cannot keep this in {}", path.display()), e);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == io::ErrorKind::NotFound => String::new(),
        Err(e) => return Err(failed(e)),
    };
    let text = edited(&text, values)
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
