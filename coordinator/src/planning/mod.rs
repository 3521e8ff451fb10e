//! PURE: from (spec, status, hosts, leases, site, run) to the next actions and the new status.
