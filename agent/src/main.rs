//! The binary `bpa-agent`; everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    bpa_agent::cli::main()
}
