//! Leases: one parser per DHCP server (pure), one table, followers (thin).
