//! Where `/model` leads in mid-session: another model here, or another provider. Pure.
//!
//! What was said at the start chose the endpoint of the start. A key that belongs to it
//! (`XSH_API_KEY`, a file's general key) stays with it, whatever is typed later.

use super::resolve::Sources;
use super::target::{
    Named, Place, Target, arrive, find, of_provider, sign, split, strip, usual_model,
};
use super::{Endpoint, Origin, Setting};
use crate::client::profile::{ModelIds, Profile, models};
use crate::error::Error;

/// From where another model is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Here<'a> {
    /// The endpoint that the program started with.
    pub home: Option<&'a Endpoint>,
    /// The endpoint in use; none = the name must hold its provider.
    pub now: Option<&'a Endpoint>,
    /// The ids that the endpoint in use is known to offer; empty where it was not asked.
    pub offered: &'a [String],
}

/// Where `MODEL`, `PROVIDER/MODEL` or `PROVIDER` leads.
pub(super) fn switched(
    sources: &Sources<'_>,
    here: &Here<'_>,
    name: &str,
) -> Result<Target, Error> {
    let name = name.trim();
    if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c.is_control()) {
        let error = Error::usage("unusable model name", "it is empty or has blanks in it");
        return Err(error.help("/model lists what there is"));
    }
    let model = Setting::new(name.to_owned(), Origin::Typed);
    let Some((provider, rest)) = leads_to(sources, here, &model) else {
        let now =
            here.now.ok_or_else(|| Error::usage(format!("no provider is known for {name}"), ""))?;
        return Ok(stay(now, Some(model)));
    };
    let known = [here.now, here.home].into_iter().flatten();
    if let Some(endpoint) = known.into_iter().find(|e| e.provider.value == provider.value.name()) {
        let model = match rest {
            Some(rest) => Some(strip(endpoint.profile, model, rest)),
            None => usual_model(sources, &Place::of(endpoint, provider.value)),
        };
        return Ok(stay(endpoint, model));
    }
    let place = of_provider(sources, &provider)?.found();
    let model = rest.map(|rest| strip(place.profile, model, rest));
    Ok(Target { choices: Vec::new(), ..arrive(sources, place, model)? })
}

fn stay(endpoint: &Endpoint, model: Option<Setting<String>>) -> Target {
    let endpoint = Some(endpoint.clone());
    Target { endpoint, model, warnings: Vec::new(), choices: Vec::new() }
}

/// The provider that a typed name begins with or is, and the rest. None: it is a model of the
/// provider in use.
fn leads_to<'a>(
    sources: &Sources<'a>,
    here: &Here<'_>,
    model: &Setting<String>,
) -> Option<(Setting<Named<'a>>, Option<String>)> {
    if here.offered.contains(&model.value) {
        return None;
    }
    if let Some((prefix, rest)) = split(sources, model) {
        return is_meant(sources, here, prefix.value).then_some((prefix, Some(rest)));
    }
    let found = find(sources, &model.value)?;
    let now = here.now.map_or("", |now| now.profile.name);
    let is_model = models::find(now, &model.value).is_some();
    let usable = match found {
        Named::Preset(profile) => has_sign(sources, profile),
        Named::Section(..) => true,
    };
    (usable && !is_model).then(|| (Setting::new(found, Origin::Typed), None))
}

/// Whether the name before the slash means the provider, and not the maker of a model that the
/// provider in use offers as `maker/model`.
fn is_meant(sources: &Sources<'_>, here: &Here<'_>, prefix: Named<'_>) -> bool {
    let (Named::Preset(profile), Some(now)) = (prefix, here.now) else { return true };
    if [Some(now), here.home]
        .into_iter()
        .flatten()
        .any(|known| known.provider.value == profile.name)
    {
        return true;
    }
    match now.profile.model_ids {
        ModelIds::Plain => true,
        ModelIds::Mixed => has_sign(sources, profile),
        // All its ids look like this: only what it is known not to offer leads away.
        ModelIds::Paths => {
            let may_be_maker = profile.model_ids == ModelIds::Plain && here.offered.is_empty();
            has_sign(sources, profile) && !may_be_maker
        }
    }
}

fn has_sign(sources: &Sources<'_>, profile: &Profile) -> bool {
    profile.is_local() || sign(sources, profile).is_some()
}

#[cfg(test)]
mod tests;
