//! The binary `bpa-coordinator`; everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    bpa_coordinator::cli::main()
}
