//! Money that the operator books by hand, after a transfer.

use super::Provider;
use crate::store::ledger::Outside;

pub(super) struct Manual;

impl Provider for Manual {
    fn outside(&self) -> Outside {
        Outside::Manual
    }
}
