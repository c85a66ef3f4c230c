import { basename, join } from "node:path";
import { IMAGE_FLAGS, hookImagePath } from "../../daemon/hook-image.ts";
import { NodeDisk } from "../../disk/node-disk.ts";
import { writeFileDurably } from "../../disk/write-fully.ts";
import { hookEntryPath, launcherPath } from "../../daemon/program-paths.ts";
import type { Io } from "../../process/io.ts";
import { readTextIfThere } from "../../process/user-files.ts";
import type { Wanted } from "./agent-config.ts";

interface HookScript {
  /** The store whose server is asked. */
  readonly home: string;
  /** A Node that can run Chronicle; the agent's own PATH may have an older one. */
  readonly node: string;
  /** `dist/hook.cjs`. */
  readonly entry: string;
  /** The name of the hook's image in the store's cache folder. */
  readonly image: string;
  readonly version: string;
  /** `XDG_CONFIG_HOME` at the time of installing, if it was set: the key is there. */
  readonly configHome: string | undefined;
}

/** Quotes a word for a POSIX shell. */
export function shellWord(text: string): string {
  return /^[A-Za-z0-9_./:=@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The time that the server may take for one answer, in seconds: the first capture of a large folder takes long. */
const ANSWER_SECONDS = 120;

/**
 * The Perl program that asks the server directly. It loads no module on Linux. Arguments: the socket, the path, the
 * version, `C` if LC_ALL was set only for Perl, the hook's own arguments.
 */
const PERL = `#!perl
my ($door, $path, $version, $locale, @words) = @ARGV;
my $in = do { local $/; <STDIN> };
$in = "" unless defined $in;
sub ask {
  # The socket of a store with a long name lies elsewhere: in a folder of this user's alone, or it could be anybody's.
  if (-l $door) {
    (my $folder = readlink $door) =~ s{/[^/]*$}{};
    my @own = lstat $folder;
    return unless @own && -d _ && $own[4] == $< && !($own[2] & 077);
  }
  my $to;
  if ($^O eq "linux") { $to = pack("Sa*", 1, $door) }
  else { require Socket; $to = Socket::pack_sockaddr_un($door) }
  socket(my $socket, 1, 1, 0) or return;
  connect($socket, $to) or return;
  return if stopped($socket);
  local $SIG{PIPE} = "IGNORE";
  my $ask = "POST $path HTTP/1.1\\r\\nHost: chronicle\\r\\nConnection: close\\r\\nX-Chronicle-Version: $version\\r\\n"
    . "X-Chronicle-Parent: " . getppid() . "\\r\\n"
    . "Content-Length: " . length($in) . "\\r\\n\\r\\n" . $in;
  my $at = 0;
  while ($at < length $ask) {
    my $sent = syswrite($socket, $ask, length($ask) - $at, $at);
    return unless defined $sent;
    $at += $sent;
  }
  # It may have much to do; but not for ever.
  local $SIG{ALRM} = sub { die };
  my $answer = eval { alarm ${ANSWER_SECONDS}; local $/; <$socket> };
  alarm 0;
  return unless defined $answer && $answer =~ m{^HTTP/1.1 200 };
  my $head = index($answer, "\\r\\n\\r\\n");
  return unless $head > 0 && substr($answer, 0, $head) =~ m{^content-length: (\\d+)}mi;
  my $body = substr($answer, $head + 4);
  return length($body) == $1 ? $body : undef;
}
# Linux: SO_PEERCRED of unix(7), and proc_pid_stat(5). A process that was stopped (Ctrl-Z) answers nobody.
sub stopped {
  return unless $^O eq "linux";
  my ($pid) = unpack("i", getsockopt($_[0], 1, 17) // return);
  open(my $stat, "<", "/proc/$pid/stat") or return;
  return (<$stat> // "") =~ /^\\d+ \\(.*\\) [TtZX] /s;
}
my $body = ask();
if (defined $body) {
  print $body;
  exit 0;
}
delete $ENV{LC_ALL} if $locale;
$ENV{CHRONICLE_HOOK_PARENT} = getppid();
if (open(my $hook, "|-", "/bin/sh", $0, @words)) {
  local $SIG{PIPE} = "IGNORE";
  print $hook $in;
  close $hook;
  exit($? >> 8) unless $? & 127;
}
print STDERR "chronicle: the hook could not be run; see: chronicle doctor\\n";
exit 2 if grep { $_ eq "--strict" } @words;
print '{"systemMessage":"Chronicle: this step is not recorded: the hook could not be run (chronicle doctor)"}';
exit 0;
`;

/**
 * The shell function that answers the hook in a process of its own, with the agent's input as its stdin. It tries the
 * image first, and then the hook itself. An image that does not fit exits before it reads any input: Node returns 14
 * for an image of another Node, the image returns 75 for a hook that was replaced since, and a code above 125 means
 * that Node could not be started, or crashed.
 */
const HERE = `here() {
  set -- "$agent" --store "$store" --parent "$parent" \${strict:+--strict} \${direct:+--direct}
  if [ -f "$image" ]; then
    "$node" ${IMAGE_FLAGS.join(" ")} --snapshot-blob "$image" "$entry" "$@"
    code=$?
    case $code in 14 | 75 | 12[6-9] | 1[3-9]? | 2??) ;; *) return $code ;; esac
  fi
  [ -d "$store/cache" ] && NODE_COMPILE_CACHE=$store/cache/compile && export NODE_COMPILE_CACHE
  "$node" "$entry" "$@"
}`;

/** Returns a text as a shell word, escaped for a place within a JSON string. */
function jsonWord(text: string): string {
  return shellWord(JSON.stringify(text).slice(1, -1));
}

/**
 * Returns the shell functions that report a removed Chronicle or Node. The script tells the agent's user once for each
 * step, and not again at the step's end. `--strict` means that a tool does not run when Chronicle cannot record it. A
 * user who has uninstalled Chronicle no longer asks for that, so only a missing Node stops tools. Prompts and ends of
 * turns are never stopped: an agent that may not end its turn would never stop.
 */
function lostChecks(node: string, entry: string): string {
  return `tell() {
  printf 'chronicle: %s\\n' "$1" >&2
  printf '{"systemMessage":"Chronicle: %s"}\\n' "$1"
}
refuse() {
  printf 'chronicle: %s\\n' "$1" >&2
  exit 2
}
lost() {
  in=\${in-$(cat)}
  event=\${in#*\\"hook_event_name\\"}
  event=\${event#*\\"}
  event=\${event%%\\"*}
  case $event in
    PostToolUse* | After* | Stop | SessionEnd)
      [ "$agent" = gemini ] && echo '{}'
      exit 0
      ;;
    SessionStart | UserPromptSubmit | BeforeAgent) ;;
    *) [ -n "$2" ] && refuse "$1" ;;
  esac
  tell "$1"
  exit 0
}
present() {
  case $agent in
    codex) settings=.codex/hooks.json ;;
    gemini) settings=.gemini/settings.json ;;
    *) settings=.claude/settings.json ;;
  esac
  [ -f "$entry" ] || lost ${jsonWord(`Chronicle was uninstalled (${entry} is gone): nothing is recorded. Install it again, or remove the hooks that name chronicle-hook from `)}"$settings" ""
  [ -x "$node" ] || lost ${jsonWord(`the Node that runs it is gone (${node}): nothing is recorded. Run again the chronicle agents install that made this hook, or remove the hooks that name chronicle-hook from `)}"$settings" "$strict"
}`;
}

/**
 * Returns the installed hook: a script for `sh` that asks the server and falls back to Node. Perl is a few milliseconds
 * faster than curl and available nearly everywhere; both are an order of magnitude faster than starting Node. The
 * script's arguments: the agent, then perhaps `--strict`, and `--direct`, which neither asks nor starts the server.
 *
 * With `--strict`, every failure before a tool exits with code 2, which tells every agent not to run the tool. Only an
 * uninstalled Chronicle stops nothing (`lostChecks`).
 */
export function hookScript({ home, node, entry, image, version, configHome }: HookScript): string {
  const config = configHome === undefined ? "" : `XDG_CONFIG_HOME=${shellWord(configHome)}\nexport XDG_CONFIG_HOME\n`;
  return `#!/bin/sh
# Chronicle's hook for AI agents, version ${version}. Made by \`chronicle agents install\`, and made again by it.
agent=$1
strict=
direct=
for word; do
  case $word in
    --strict) strict=1 ;;
    --direct) direct=1 ;;
  esac
done
# Off the record (\`chronicle run --otr\`): the process is not asked.
[ -n "\${CHRONICLE_OTR-}" ] && direct=1
store=\${CHRONICLE_HOME:-${shellWord(home)}}
node=${shellWord(node)}
entry=${shellWord(entry)}
${config}door=$store/run/serve.sock
# Set: the process was asked already.
parent=\${CHRONICLE_HOOK_PARENT-}
if [ -z "$parent$direct" ] && [ -S "$door" ] && [ -x /usr/bin/perl ]; then
  locale=
  [ -z "\${LC_ALL-}" ] && locale=C && LC_ALL=C && export LC_ALL
  exec /usr/bin/perl -x "$0" "$door" "/hooks/$agent?strict=$strict" ${version} "$locale" "$@"
fi
image=$store/cache/${shellWord(image)}
${lostChecks(node, entry)}
${HERE}
failed() {
  [ $1 = 0 ] && exit 0
  why="the hook could not be run (exit code $1); see: chronicle doctor"
  [ -n "$strict" ] && refuse "$why"
  tell "this step is not recorded: $why"
  exit 0
}
if [ -n "$parent$direct" ] || [ ! -S "$door" ]; then
  present
  unset CHRONICLE_HOOK_PARENT
  parent=\${parent:-$PPID}
  here
  failed $?
fi
parent=$PPID
in=$(cat)
if [ ! -L "$door" ] && command -v curl >/dev/null 2>&1; then
  curl -qsf --max-time ${ANSWER_SECONDS} --unix-socket "$door" -H 'Content-Type: application/json' -H 'X-Chronicle-Version: ${version}' -H "X-Chronicle-Parent: $PPID" \\
    --data-binary @- "http://chronicle/hooks/$agent?strict=$strict" <<CHRONICLE_INPUT && exit 0
$in
CHRONICLE_INPUT
fi
present
printf '%s' "$in" | here
failed $?
${PERL}`;
}

/** The folder of a store, and the folder of its configuration and key. */
export interface HookPlaces {
  readonly home: string;
  readonly configFolder: string;
}

/** Returns the installed hook's path. */
export function hookScriptPath({ configFolder }: HookPlaces): string {
  return join(configFolder, "bin", "chronicle-hook");
}

/** Writes the hook that agents run, unless it is current. Returns its path. */
export function writeHookScript(io: Io, places: HookPlaces): string {
  const path = hookScriptPath(places);
  if (isHookCurrent(io, places)) return path;
  const text = hookText(io, places);
  const disk = new NodeDisk();
  for (const folder of [places.configFolder, join(places.configFolder, "bin")]) makeFolder(disk, folder);
  writeFileDurably(disk, path, Buffer.from(text), { mode: 0o755, mark: `.${process.pid}` });
  return path;
}

/** True if the hook exists and is current. */
export function isHookCurrent(io: Io, places: HookPlaces): boolean {
  const path = hookScriptPath(places);
  return readTextIfThere(path) === hookText(io, places) && new NodeDisk().lstat(path)?.mode === 0o755;
}

/** Returns the text that the installed hook should have. */
export function hookText(io: Io, { home }: HookPlaces): string {
  const configHome = io.env["XDG_CONFIG_HOME"];
  const image = basename(hookImagePath(home));
  return hookScript({ home, node: process.execPath, entry: hookEntryPath(), image, version: io.version, configHome });
}

/** Returns the command lines for an agent's configuration. */
export function wantedFor(agent: string, places: HookPlaces & { readonly strict: boolean }): Wanted {
  const script = shellWord(hookScriptPath(places));
  // A missing hook exits with 127, which Gemini CLI takes as a refusal. All agents take 1 as a warning.
  const hook = `${script} ${agent} || exit 1`;
  // With `--strict`, a missing hook must not let the tool run either: the shell decides that by the exit code.
  const hookBefore = places.strict ? `${script} ${agent} --strict || exit 2` : hook;
  return { hook, hookBefore, mcp: [process.execPath, launcherPath(), "--store", places.home, "mcp"] };
}

function makeFolder(disk: NodeDisk, folder: string): void {
  if (disk.lstat(folder) !== undefined) return;
  makeFolder(disk, join(folder, ".."));
  disk.makeFolder(folder, 0o700);
}
