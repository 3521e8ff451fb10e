//! The bootstrap host's own resources: it also serves DHCP and files.

use std::path::Path;

use bpa_common::wire::v1::HostReport;

/// Reads them now. What can't be read is 0.
pub fn host_report(state_dir: &Path) -> HostReport {
    let mut report = HostReport {
        hostname: sysinfo::System::host_name().unwrap_or_default(),
        cpus: std::thread::available_parallelism().map_or(0, |n| n.get() as u32),
        ..HostReport::default()
    };
    if let Ok(load) = sysinfo::System::load_average() {
        report.load_percent = (load.one * 100.0) as u32;
    }
    if let Ok(mut system) = sysinfo::System::new() {
        system.refresh_memory();
        report.memory_total = system.total_memory();
        report.memory_available = system.available_memory();
    }
    if let Ok(disk) = rustix::fs::statvfs(state_dir) {
        report.disk_total = disk.f_blocks.saturating_mul(disk.f_frsize);
        report.disk_available = disk.f_bavail.saturating_mul(disk.f_frsize);
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_something_of_everything() {
        let report = host_report(Path::new("/"));
        assert!(report.cpus > 0 && report.memory_total > 0 && report.disk_total > 0);
        assert!(report.memory_available <= report.memory_total);
    }
}
