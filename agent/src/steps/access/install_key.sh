# Adds one line to the account's authorized_keys. Arguments: key type, key, comment.
set -eu
umask 077
wanted="$1 $2"
# sshd looks in the home of the user database, whatever HOME says.
home=$(getent passwd "$(id -un)" 2>/dev/null | cut -d: -f6) || home=
[ -n "$home" ] || home=${HOME:?no home directory}
dir=$home/.ssh
file=$dir/authorized_keys
[ -d "$dir" ] || mkdir "$dir"
chmod 700 "$dir"
found=added
if [ -e "$file" ]; then
  while IFS= read -r line || [ -n "$line" ]; do
    case $line in "$wanted" | "$wanted "*) found=present ;; esac
  done <"$file"
fi
if [ "$found" = added ]; then
  # A last line without its newline would swallow ours.
  if [ -s "$file" ] && [ "$(tail -c 1 "$file" | wc -l)" -eq 0 ]; then echo >>"$file"; fi
  printf '%s %s\n' "$wanted" "$3" >>"$file"
fi
chmod 600 "$file"
if command -v restorecon >/dev/null 2>&1; then restorecon -R "$dir" >/dev/null 2>&1 || :; fi
echo "bpa.key=$found"
