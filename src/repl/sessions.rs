//! `/sessions`: the list, and the search in all of them. Both read many files, so they run on a thread
//! of their own and end soon after Ctrl-C.

use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use super::lists;
use crate::commands::sessions::search;
use crate::error::Error;
use crate::session::store::Store;

/// Sessions that are shown.
const SHOWN: usize = 20;

/// The text of `/sessions [WORDS]`; `current` is the session that is open.
pub(super) async fn look(
    store: Store,
    current: String,
    words: Option<String>,
    cancel: &CancellationToken,
) -> Result<String, Error> {
    let stop = cancel.clone();
    let looked = spawn_blocking(move || match words {
        Some(words) => search(&store, false, &words, SHOWN, &stop).trim_end().to_owned(),
        None => lists::sessions(&store.list(false, SHOWN, &stop), &current),
    });
    let text = looked.await.map_err(|error| Error::failed("cannot list the sessions", error))?;
    if cancel.is_cancelled() { Err(Error::interrupted()) } else { Ok(text) }
}
