# Installs $PACKAGES from the folder $DEBS, which holds all that a small Debian
# may lack and an index of it. Prints "installed" when it did anything.
set -eu
missing=
for package in $PACKAGES; do
  case $(dpkg-query --show --showformat '${db:Status-Status}' "$package" 2>/dev/null) in
    installed) ;;
    *) missing="$missing $package" ;;
  esac
done
if [ -n "$missing" ]; then
  export DEBIAN_FRONTEND=noninteractive
  # A run that was cut may still be at it, or may have left packages half set up.
  wait='-o DPkg::Lock::Timeout=180'
  dpkg --configure -a --force-confold
  # Only this source: the host's own may be out of reach on a site without internet.
  # It is trusted because the playbooks brought the sums of all its files.
  list=$(mktemp)
  echo "deb [trusted=yes] file:$DEBS ./" >"$list"
  only="-o Dir::Etc::sourcelist=$list -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists=$DEBS/lists -o APT::Sandbox::User=root"
  mkdir -p "$DEBS/lists/partial"
  apt-get -qq $only update >/dev/null
  apt-get -qq $wait $only -o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-confold -o Dpkg::Options::=--force-unsafe-io \
    install --yes --no-install-recommends $missing >/dev/null
  rm -f "$list"
  echo installed
fi
