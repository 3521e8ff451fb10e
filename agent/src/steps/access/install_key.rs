//! Puts the site's public key into the account's `authorized_keys`.

use super::problem::Problem;
use super::session::Session;

/// Idempotent; keeps every line of others. `$1` type, `$2` key, `$3` comment.
const SCRIPT: &str = include_str!("install_key.sh");

/// Whether the key had to be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Installed {
    Added,
    WasThere,
}

/// Installs a line of `authorized_keys` for this account.
pub(super) async fn install_key(
    session: &Session,
    user: &str,
    public_line: &str,
) -> Result<Installed, Problem> {
    let parts: Vec<&str> = public_line.splitn(3, ' ').collect();
    let output = session.script("installing the site's key", SCRIPT, &parts).await?;
    match output.stdout.lines().find_map(|l| l.strip_prefix("bpa.key=")) {
        Some("added") if output.ok() => Ok(Installed::Added),
        Some("present") if output.ok() => Ok(Installed::WasThere),
        _ => Err(Problem::KeyNotInstalled { user: user.to_owned(), found: output.complaint() }),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use std::process::Command;

    /// Runs the script as a shell would, with a home of its own.
    fn run(home: &Path, key: &str) -> (bool, String) {
        let script = super::SCRIPT.replace("getent passwd", "false getent passwd");
        let mut command = Command::new("sh");
        command.arg("-c").arg(script).arg("sh").args(["ssh-ed25519", key, "bpa-agent@s"]);
        let output = command.env("HOME", home).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn the_first_key_of_an_account_makes_a_private_directory() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(run(home.path(), "AAAA"), (true, "bpa.key=added\n".into()));
        let file = home.path().join(".ssh/authorized_keys");
        assert_eq!(fs::read_to_string(&file).unwrap(), "ssh-ed25519 AAAA bpa-agent@s\n");
        assert_eq!((mode(&home.path().join(".ssh")), mode(&file)), (0o700, 0o600));
    }

    #[test]
    fn lines_of_others_stay_and_ours_is_not_doubled() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(".ssh/authorized_keys");
        fs::create_dir(home.path().join(".ssh")).unwrap();
        // No newline at the end, as editors leave it; ours is commented out once.
        let theirs = "# ssh-ed25519 AAAA old\nssh-rsa BBBB them\n\nssh-ed25519 AAAAB longer";
        fs::write(&file, theirs).unwrap();
        assert_eq!(run(home.path(), "AAAA").1, "bpa.key=added\n");
        let wanted = format!("{theirs}\nssh-ed25519 AAAA bpa-agent@s\n");
        assert_eq!(fs::read_to_string(&file).unwrap(), wanted);
        assert_eq!(run(home.path(), "AAAA").1, "bpa.key=present\n");
        assert_eq!(fs::read_to_string(&file).unwrap(), wanted);
    }

    #[test]
    fn a_home_that_is_not_there_is_an_error() {
        let (ok, out) = run(Path::new("/nonexistent/home"), "AAAA");
        assert!(!ok && out.is_empty());
    }
}
