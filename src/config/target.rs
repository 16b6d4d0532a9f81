//! Which endpoint, which model and which key: the part of the configuration where a mistake costs
//! money or gives a key away. Pure.
//!
//! A key goes only to hosts that are its own: a provider's usual variable to that provider's hosts
//! (or to the endpoint of the variable it pairs with), `XSH_API_KEY` to the endpoint that the user
//! chose (with `XSH_BASE_URL` set: only to that host), `api_key_env` to the endpoint of its file.
//! What a project's file says chooses an endpoint only where the user has trusted it, and then no key
//! follows but one whose own host that is.

use super::endpoint::{authority, host, is_exposed, is_loopback, normalize, ollama_url, owns};
use super::file::ProviderValues;
use super::resolve::{Sources, flag};
use super::{Choice, Endpoint, Origin, Secret, Setting};
use crate::client::profile::{self, GENERIC, ModelIds, PROFILES, Profile, models};
use crate::error::Error;
use crate::suggest;

/// Where requests go, and what for.
pub(super) struct Target {
    pub(super) endpoint: Option<Endpoint>,
    pub(super) model: Option<Setting<String>>,
    pub(super) warnings: Vec<String>,
    pub(super) choices: Vec<Choice>,
}

/// An endpoint without its key yet.
#[derive(Clone)]
pub(super) struct Place<'a> {
    provider: Setting<String>,
    pub(super) profile: &'static Profile,
    base_url: Setting<String>,
    /// The user's section that describes it.
    section: Option<&'a ProviderValues>,
    /// The user chose it; it was not merely found.
    chosen: bool,
    /// A project that the user trusts named it: the user's general key does not go there.
    by_project: bool,
}

/// A provider that has a name.
#[derive(Clone, Copy)]
pub(super) enum Named<'a> {
    Preset(&'static Profile),
    Section(&'a str, &'a ProviderValues),
}

impl<'a> Named<'a> {
    pub(super) fn name(self) -> &'a str {
        match self {
            Self::Preset(profile) => profile.name,
            Self::Section(name, _) => name,
        }
    }
}

impl<'a> Place<'a> {
    /// The same, where no key that belongs to the choice of the start may follow.
    pub(super) fn found(self) -> Self {
        Self { chosen: false, ..self }
    }

    /// The place of an endpoint that is known already.
    pub(super) fn of(endpoint: &Endpoint, named: Named<'a>) -> Self {
        let section = match named {
            Named::Section(_, section) => Some(section),
            Named::Preset(_) => None,
        };
        Self {
            provider: endpoint.provider.clone(),
            profile: endpoint.profile,
            base_url: endpoint.base_url.clone(),
            section,
            chosen: false,
            by_project: false,
        }
    }
}

/// Weighs everything that was said about endpoint and model.
pub(super) fn target(sources: &Sources<'_>) -> Result<Target, Error> {
    let model = sources.model();
    let (place, model) = match explicit(sources)? {
        Some(place) => with_explicit(sources, place, model)?,
        None => without_explicit(sources, model)?,
    };
    let Some(place) = place else {
        return Ok(Target { endpoint: None, model, warnings: Vec::new(), choices: Vec::new() });
    };
    arrive(sources, place, model)
}

/// The place with its key, and the model that is usual there where none is named.
pub(super) fn arrive(
    sources: &Sources<'_>,
    place: Place<'_>,
    model: Option<Setting<String>>,
) -> Result<Target, Error> {
    let choices = if place.chosen { Vec::new() } else { choices(sources, model.as_ref()) };
    let model = model.or_else(|| usual_model(sources, &place));
    let key = key(sources, &place)?;
    let warnings = warnings(sources, &place, key.as_ref());
    let section = place.section.cloned();
    let (headers, extra_body) = section.map(|s| (s.headers, s.extra_body)).unwrap_or_default();
    let endpoint = Endpoint {
        headers: headers.into_iter().collect(),
        extra_body,
        loopback: is_loopback(&place.base_url.value),
        provider: place.provider,
        profile: place.profile,
        base_url: place.base_url,
        key,
    };
    Ok(Target { endpoint: Some(endpoint), model, warnings, choices })
}

/// The endpoint that flag, `XSH_BASE_URL` or the user's file name. The file's `base_url` and
/// `provider` are a pair, so `--provider` sets both aside.
fn explicit<'a>(sources: &Sources<'a>) -> Result<Option<Place<'a>>, Error> {
    let typed = flag("--provider", sources.args.model.provider.as_deref());
    let typed = typed.map(|name| named(sources, name)).transpose()?;
    let (named_in_file, url_in_file) = match typed {
        None => sources.pair(),
        Some(_) => (None, None),
    };
    let in_file = named_in_file.map(|name| named(sources, name)).transpose()?;
    let url = flag("--base-url", sources.args.model.base_url.clone());
    let typed_section = typed.as_ref().is_some_and(|n| matches!(n.value, Named::Section(..)));
    let url = match url {
        None if !typed_section => sources.env("XSH_BASE_URL"),
        url => url,
    };
    let (url, named) = (url.or(url_in_file), typed.or(in_file));
    let chosen_by = url.as_ref().map(|url| &url.origin).or(named.as_ref().map(|n| &n.origin));
    let by_project = matches!(chosen_by, Some(Origin::Project(_)));
    let place = match (url, named) {
        (Some(url), named) => at_url(url, named.as_ref())?,
        (None, Some(named)) => of_provider(sources, &named)?,
        (None, None) => return Ok(None),
    };
    Ok(Some(Place { by_project, ..place }))
}

fn at_url<'a>(
    url: Setting<String>,
    provider: Option<&Setting<Named<'a>>>,
) -> Result<Place<'a>, Error> {
    let base = normalize(&url.value).map_err(|why| bad_url(&url, &why))?;
    let at_host = profile::profile_for(&base, None);
    let (name, profile) = match provider.map(|named| named.value) {
        Some(Named::Preset(preset)) => (preset.name, preset),
        Some(Named::Section(name, _)) => (name, at_host),
        None => (at_host.name, at_host),
    };
    let origin = provider.map_or(&url.origin, |named| &named.origin).clone();
    let provider = Setting::new(name.to_owned(), origin);
    let base_url = Setting::new(base, url.origin);
    Ok(Place { provider, profile, base_url, section: None, chosen: true, by_project: false })
}

/// The usual endpoint of a provider that was named.
pub(super) fn of_provider<'a>(
    sources: &Sources<'a>,
    named: &Setting<Named<'a>>,
) -> Result<Place<'a>, Error> {
    match named.value {
        Named::Section(_, section) => {
            let origin = sources.user_origin();
            let url = Setting::new(section.base_url.clone(), origin);
            Ok(Place { section: Some(section), ..at_url(url, Some(named))? })
        }
        Named::Preset(profile) => {
            let url = preset_url(sources, profile)?.ok_or_else(|| {
                Error::usage(format!("provider {} has no usual endpoint", profile.name), "")
                    .help("give it with --base-url")
            })?;
            at_url(url, Some(named))
        }
    }
}

/// The preset's endpoint, or the one that its own variable moves it to.
fn preset_url(
    sources: &Sources<'_>,
    profile: &'static Profile,
) -> Result<Option<Setting<String>>, Error> {
    let Some(moved) = profile.base_url_env.and_then(|name| sources.env(name)) else {
        let preset = Origin::Preset(profile.name.to_owned());
        return Ok(profile.base_url.map(|url| Setting::new(url.to_owned(), preset)));
    };
    if profile.is_local() {
        let url = ollama_url(&moved.value).ok_or_else(|| bad_url(&moved, "it is no address"))?;
        return Ok(Some(Setting::new(url, moved.origin)));
    }
    Ok(Some(moved))
}

/// The endpoint stands; the model's prefix may still be its name, or, from a stronger source than
/// the user's file, that of another provider.
fn with_explicit<'a>(
    sources: &Sources<'a>,
    place: Place<'a>,
    model: Option<Setting<String>>,
) -> Result<(Option<Place<'a>>, Option<Setting<String>>), Error> {
    let Some(model) = model else { return Ok((Some(place), None)) };
    let Some((prefix, rest)) = split(sources, &model) else {
        return Ok((Some(place), Some(model)));
    };
    if prefix.value.name() == place.provider.value {
        let model = strip(place.profile, model, rest);
        return Ok((Some(place), Some(model)));
    }
    let stronger = matches!(model.origin, Origin::Flag(_) | Origin::Environment(_))
        && sources.is_from_file(&place.base_url.origin);
    let is_maker =
        matches!(prefix.value, Named::Preset(_)) && place.profile.model_ids != ModelIds::Plain;
    if !stronger || is_maker {
        return Ok((Some(place), Some(model)));
    }
    let place = of_provider(sources, &prefix)?;
    let model = strip(place.profile, model, rest);
    Ok((Some(place), Some(model)))
}

/// No endpoint was named: the model's prefix, else a key in the environment decides.
fn without_explicit<'a>(
    sources: &Sources<'a>,
    model: Option<Setting<String>>,
) -> Result<(Option<Place<'a>>, Option<Setting<String>>), Error> {
    let trusted = model.as_ref().filter(|m| !matches!(m.origin, Origin::Project(_)));
    let prefix = trusted.and_then(|m| split(sources, m));
    let Some((prefix, rest)) = prefix else {
        let place = automatic(sources, trusted.map(|m| m.value.as_str()), |_| true)?;
        let model = match (&place, model) {
            (Some(place), Some(model)) => Some(strip_own(sources, place, model)),
            (_, model) => model,
        };
        return Ok((place, model));
    };
    if let Named::Preset(profile) = prefix.value
        && !is_usable(sources, profile)
        && let Some(place) = automatic(sources, None, |p| p.model_ids != ModelIds::Plain)?
    {
        return Ok((Some(place), model));
    }
    let place = of_provider(sources, &prefix)?;
    let model = model.map(|model| strip(place.profile, model, rest));
    Ok((Some(place), model))
}

/// A provider whose key is in the environment: the one whose own model is wanted, else the first.
fn automatic<'a>(
    sources: &Sources<'a>,
    model: Option<&str>,
    allowed: impl Fn(&Profile) -> bool,
) -> Result<Option<Place<'a>>, Error> {
    let found: Vec<_> = PROFILES
        .iter()
        .filter(|profile| profile.automatic && allowed(profile))
        .filter_map(|profile| Some((profile, sign(sources, profile)?)))
        .collect();
    let makes = |p: &Profile| model.is_some_and(|id| models::find(p.name, id).is_some());
    let maker = found.iter().find(|(profile, _)| makes(profile));
    let Some((profile, origin)) = maker.or(found.first()).cloned() else { return Ok(None) };
    let place = of_provider(sources, &Setting::new(Named::Preset(profile), origin))?;
    Ok(Some(Place { chosen: false, ..place }))
}

/// The providers that could be used as well as the first one, where nothing was said.
fn choices(sources: &Sources<'_>, model: Option<&Setting<String>>) -> Vec<Choice> {
    let found = usable(sources, |profile| profile.automatic);
    if found.len() > 1 && model.is_none() { found } else { Vec::new() }
}

/// Providers that a variable speaks for.
pub(super) fn usable(sources: &Sources<'_>, allowed: impl Fn(&Profile) -> bool) -> Vec<Choice> {
    let signed = PROFILES.iter().filter(|profile| allowed(profile)).filter_map(|profile| {
        let Some(Origin::Environment(sign)) = sign(sources, profile) else { return None };
        let model = profile.default_model.map(str::to_owned);
        Some(Choice { provider: profile.name.to_owned(), model, sign })
    });
    signed.collect()
}

/// The variable that speaks for a provider: its key, or its endpoint.
pub(super) fn sign(sources: &Sources<'_>, profile: &Profile) -> Option<Origin> {
    let mut names = profile.key_envs.iter().copied().chain(profile.base_url_env);
    names.find_map(|name| sources.env(name)).map(|found| found.origin)
}

fn is_usable(sources: &Sources<'_>, profile: &Profile) -> bool {
    let general = sources.env("XSH_API_KEY").is_some() && sources.env("XSH_BASE_URL").is_none();
    profile.is_local() || general || sign(sources, profile).is_some()
}

/// `PROVIDER/MODEL`, where the first part is the name of a provider.
pub(super) fn split<'a>(
    sources: &Sources<'a>,
    model: &Setting<String>,
) -> Option<(Setting<Named<'a>>, String)> {
    let (name, rest) = model.value.split_once('/')?;
    let found = find(sources, name)?;
    (!rest.is_empty()).then(|| (Setting::new(found, model.origin.clone()), rest.to_owned()))
}

/// The model without its provider's name, except where that is a part of the model's id.
pub(super) fn strip(profile: &Profile, model: Setting<String>, rest: String) -> Setting<String> {
    if profile.model_ids == ModelIds::Paths && !rest.contains('/') {
        return model;
    }
    Setting::new(rest, model.origin)
}

fn strip_own(sources: &Sources<'_>, place: &Place<'_>, model: Setting<String>) -> Setting<String> {
    match split(sources, &model) {
        Some((Setting { value: Named::Preset(profile), .. }, rest))
            if profile.name == place.provider.value =>
        {
            strip(profile, model, rest)
        }
        _ => model,
    }
}

pub(super) fn usual_model(sources: &Sources<'_>, place: &Place<'_>) -> Option<Setting<String>> {
    let from_section = place.section.and_then(|section| section.model.clone());
    let from_section = from_section.map(|model| Setting::new(model, sources.user_origin()));
    from_section.or_else(|| {
        let at_home = owns(place.profile, &place.base_url.value);
        let model = place.profile.default_model.filter(|_| at_home)?;
        Some(Setting::new(model.to_owned(), Origin::Preset(place.profile.name.to_owned())))
    })
}

pub(super) fn find<'a>(sources: &Sources<'a>, name: &str) -> Option<Named<'a>> {
    let sections = sources.user.map(|file| &file.values.providers);
    match sections.and_then(|sections| sections.get_key_value(name)) {
        Some((name, section)) => Some(Named::Section(name, section)),
        None => profile::by_name(name).map(Named::Preset),
    }
}

fn named<'a>(sources: &Sources<'a>, name: Setting<&str>) -> Result<Setting<Named<'a>>, Error> {
    if let Some(found) = find(sources, name.value) {
        return Ok(Setting::new(found, name.origin));
    }
    let sections = sources.user.into_iter().flat_map(|file| file.values.providers.keys());
    let presets = PROFILES.iter().chain([&GENERIC]).map(|profile| profile.name);
    let known: Vec<&str> = presets.chain(sections.map(String::as_str)).collect();
    let error = Error::usage(format!("unknown provider `{}`", name.value), name.origin);
    Err(match suggest::names(name.value, &known, 1).first() {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error.help(format!("known: {}", known.join(", "))),
    })
}

fn bad_url(url: &Setting<String>, why: &str) -> Error {
    Error::usage(format!("unusable base URL in {}", url.origin), why)
        .help("it has the form https://HOST/v1, without /chat/completions")
}

/// The key for this place and no other. A key that cannot be sent is an error.
fn key(sources: &Sources<'_>, place: &Place<'_>) -> Result<Option<Setting<Secret>>, Error> {
    let names = [
        place.section.and_then(|section| section.api_key_env.as_deref()),
        Some("XSH_API_KEY").filter(|_| general_key_belongs(sources, place)),
        file_key(sources, place),
    ];
    let usual = usual_key_names(place);
    let names = names.into_iter().flatten().chain(usual.iter().copied());
    let Some(found) = names.into_iter().find_map(|name| sources.env(name)) else {
        return Ok(None);
    };
    let key = Secret::parse(&found.value).map_err(|why| {
        Error::usage(format!("the key from {} cannot be sent", found.origin), why)
            .help("set the variable again with exactly the key")
    })?;
    Ok(Some(Setting::new(key, found.origin)))
}

fn general_key_belongs(sources: &Sources<'_>, place: &Place<'_>) -> bool {
    match sources.env("XSH_BASE_URL") {
        Some(own) => same_server(&own.value, &place.base_url.value),
        None => place.chosen && !place.by_project,
    }
}

/// The user file's `api_key_env`, where the place is the file's own or the file names none.
fn file_key<'a>(sources: &Sources<'a>, place: &Place<'_>) -> Option<&'a str> {
    let values = &sources.user?.values;
    let name = values.api_key_env.as_deref()?;
    let own = match (&values.base_url, &values.provider) {
        (Some(url), _) => same_server(url, &place.base_url.value),
        (None, Some(provider)) => match find(sources, provider)? {
            Named::Preset(profile) => owns(profile, &place.base_url.value),
            Named::Section(_, section) => same_server(&section.base_url, &place.base_url.value),
        },
        (None, None) => place.chosen && !place.by_project,
    };
    own.then_some(name)
}

/// The variables of the provider whose host this is, or whose own variable named it.
fn usual_key_names(place: &Place<'_>) -> &'static [&'static str] {
    let url = &place.base_url.value;
    let moved = |p: &&Profile| {
        p.base_url_env.is_some_and(|n| place.base_url.origin == Origin::Environment(n.to_owned()))
    };
    let owner = [place.profile, profile::profile_for(url, None)].into_iter().find(|p| owns(p, url));
    owner.or_else(|| PROFILES.iter().find(moved)).map_or(&[], |profile| profile.key_envs)
}

/// Host and port: on one machine different ports are different servers.
fn same_server(a: &str, b: &str) -> bool {
    let a = authority(a);
    a.is_some() && a == authority(b)
}

fn warnings(
    sources: &Sources<'_>,
    place: &Place<'_>,
    key: Option<&Setting<Secret>>,
) -> Vec<String> {
    let mut warnings = Vec::new();
    let url = &place.base_url.value;
    if key.is_some() && is_exposed(url) {
        warnings.push(format!("the key goes to {url} unencrypted; use https:// if you can"));
    }
    if key.is_none() && sources.env("XSH_API_KEY").is_some() {
        let here = host(url).unwrap_or_default();
        let reason = match sources.env("XSH_BASE_URL") {
            Some(_) => "with XSH_BASE_URL set it belongs to that host",
            None => "it goes only to an endpoint that you name",
        };
        warnings.push(format!("XSH_API_KEY is not sent to {here}: {reason}"));
    }
    warnings
}

#[cfg(test)]
mod tests;
