//! What the tests share: the strict provider, a clean environment, a pseudo-terminal.
