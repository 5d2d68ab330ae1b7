//! What the registry shows of cards and prompts, which others change too.

/// Which state of them the registry shows.
pub(super) struct Shown<V> {
    /// `None` when they must be compared.
    version: Option<V>,
    are_forgotten: bool,
}

impl<V> Default for Shown<V> {
    fn default() -> Self {
        Self { version: None, are_forgotten: false }
    }
}

impl<V: PartialEq> Shown<V> {
    /// Whether nothing is to be compared.
    pub(super) fn is(&self, version: V) -> bool {
        self.version == Some(version)
    }

    /// Everything was compared.
    pub(super) fn set(&mut self, version: V) {
        *self = Self { version: Some(version), are_forgotten: false };
    }

    /// This state cannot be trusted, and is not looked at again.
    pub(super) fn skip(&mut self, version: V) {
        self.version = Some(version);
    }

    /// The registry was told of the change from one state to the next.
    pub(super) fn advance(&mut self, from: V, to: V) {
        if self.is(from) && !self.are_forgotten {
            self.version = Some(to);
        }
    }

    /// What the registry shows must be compared.
    pub(super) fn doubt(&mut self) {
        self.version = None;
    }

    /// Whether the registry forgot what they were since the last comparison, because they could not
    /// be read.
    pub(super) fn are_forgotten(&self) -> bool {
        self.are_forgotten
    }

    /// The registry forgot what they were: the next comparison logs each that is there.
    pub(super) fn forget(&mut self) {
        *self = Self { version: None, are_forgotten: true };
    }
}
