//! Writes the inventory of a run, and reads it back.
//!
//! `hosts.ini` holds nothing but names, addresses, numbers, account names and paths of ours, each
//! checked here again, whatever was checked before. Everything else is JSON under `group_vars/`
//! and `host_vars/`. Values from the order are plain: a text that ansible would run as a template
//! is refused when the order comes in (`orders`), and once more here. No file holds a password:
//! where sudo wants one, a host variable names a 0600 file that is removed with the end of the run.

mod hosts;
mod readback;
mod vars;
mod write;

pub use hosts::{InventoryError, InventoryNode, hosts_ini};
pub use readback::{compare, read_back};
pub use vars::{Layers, layers};
pub use write::{Inventory, write};
