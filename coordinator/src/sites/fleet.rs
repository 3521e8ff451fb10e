//! The live sessions.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use bpa_common::wire::v1::{CancelOrder, CancelReply, Order, OrderReply};
use tokio::sync::watch;

use super::{Fleet, SendError, SiteView};

/// All sites and their sessions.
#[derive(Debug)]
pub struct Sites {
    pub(super) local_addr: SocketAddr,
}

impl Sites {
    /// Where the server listens (the port is known even when 0 was asked for).
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }
}

impl Fleet for Sites {
    fn epoch(&self) -> u64 {
        0
    }

    fn view(&self) -> BTreeMap<String, SiteView> {
        BTreeMap::new()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        watch::channel(0).1
    }

    fn set_approved(&self, _approved: BTreeMap<String, bool>) {}

    async fn send_order(&self, site: &str, _order: Order) -> Result<OrderReply, SendError> {
        Err(SendError::NotConnected { site: site.to_owned() })
    }

    async fn cancel(&self, site: &str, _cancel: CancelOrder) -> Result<CancelReply, SendError> {
        Err(SendError::NotConnected { site: site.to_owned() })
    }
}
