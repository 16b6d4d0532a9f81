//! Base URLs: one form for all the ways to write one, and which host they mean.

use reqwest::Url;

use crate::client::profile::{self, PROFILES, Profile};

/// Brings a base URL to the form that `/chat/completions` can be appended to. Accepts it with or
/// without final slashes, `/chat/completions`, and the path that is usual at the provider's own
/// host. The error says what is wrong with it.
pub fn normalize(text: &str) -> Result<String, String> {
    let url = Url::parse(text.trim()).map_err(|e| e.to_string())?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("it does not begin with http:// or https://".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it holds a user name or password; a key belongs in XSH_API_KEY".to_owned());
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("it holds a ? or #, which a base URL cannot have".to_owned());
    }
    let path = url.path().trim_end_matches('/');
    let path = path.strip_suffix("/chat/completions").unwrap_or(path).trim_end_matches('/');
    let origin = url.origin().ascii_serialization();
    let usual = if path.is_empty() { usual_path(&origin) } else { None };
    Ok(format!("{origin}{}", usual.as_deref().unwrap_or(path)))
}

/// The path of the provider's usual endpoint, for a URL that names only its host.
fn usual_path(origin: &str) -> Option<String> {
    let profile = profile::profile_for(origin, None);
    let path = Url::parse(profile.base_url?).ok()?.path().trim_end_matches('/').to_owned();
    Some(path)
}

/// The host of a URL: lower case, IPv6 in brackets.
pub fn host(url: &str) -> Option<String> {
    Url::parse(url).ok()?.host_str().map(str::to_owned)
}

/// Host and port of a URL.
pub fn authority(url: &str) -> Option<(String, u16)> {
    let url = Url::parse(url).ok()?;
    Some((url.host_str()?.to_owned(), url.port_or_known_default()?))
}

/// True for an endpoint on this machine.
pub fn is_loopback(url: &str) -> bool {
    host(url).is_some_and(|host| profile::is_loopback(&host))
}

/// True where a key would travel unencrypted over a network.
pub fn is_exposed(url: &str) -> bool {
    url.starts_with("http://") && !is_loopback(url)
}

/// True where the provider's own key may go: to its hosts, and for a local server to this machine.
pub fn owns(profile: &Profile, url: &str) -> bool {
    host(url).is_some_and(|host| {
        profile.owns_host(&host) || (profile.is_local() && profile::is_loopback(&host))
    })
}

/// The address that `OLLAMA_HOST` means. It is written for a server as well, so it may be a bare
/// port or an address to listen on.
pub fn ollama_url(value: &str) -> Option<String> {
    let value = value.trim();
    let with_scheme = match value.split_once("://") {
        Some(_) => value.to_owned(),
        None if value.starts_with(':') => format!("http://127.0.0.1{value}"),
        None => format!("http://{value}"),
    };
    let mut url = Url::parse(&with_scheme).ok()?;
    let explicit_port = url.port().is_some() || value.contains("://");
    if matches!(url.host_str(), Some("0.0.0.0" | "[::]")) {
        url.set_host(Some("127.0.0.1")).ok()?;
    }
    if !explicit_port {
        url.set_port(PROFILES.iter().find(|p| p.name == "ollama")?.port).ok()?;
    }
    let base = normalize(url.as_str()).ok()?;
    Some(if base.ends_with("/v1") { base } else { format!("{base}/v1") })
}

#[cfg(test)]
mod tests;
