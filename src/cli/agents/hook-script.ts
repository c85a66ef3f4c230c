import { basename, dirname, join } from "node:path";
import { IMAGE_FLAGS, hookImagePath } from "../../daemon/hook-image.ts";
import { makeMissingFolders } from "../../disk/make-folders.ts";
import { NodeDisk } from "../../disk/node-disk.ts";
import { uniqueMark, writeFileDurably } from "../../disk/write-fully.ts";
import { hookEntryPath, launcherPath } from "../../daemon/program-paths.ts";
import type { Io } from "../../process/io.ts";
import { readTextIfThere } from "../../process/user-files.ts";
import type { Wanted } from "./agent-config.ts";

interface HookScript {
  /** The folder of the store whose server is asked, unless `$CHRONICLE_HOME` names another store. */
  readonly home: string;
  /** The path of a Node that can run Chronicle. The agent's PATH may have an older Node. */
  readonly node: string;
  /** The path of the program that Node runs (`hook.cjs`). */
  readonly entry: string;
  /**
   * The name of the hook's image in the store's cache folder. The image is a startup snapshot of Node (see
   * `hookImagePath`).
   */
  readonly image: string;
  readonly version: string;
  /**
   * The value of `XDG_CONFIG_HOME` during the installation, if this variable was set. The folder with Chronicle's key
   * is beneath this path.
   */
  readonly configHome: string | undefined;
}

/** Quotes a text for `sh`, if necessary, so that the shell reads it as one word. */
export function shellWord(text: string): string {
  return /^[A-Za-z0-9_./:=@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/**
 * The maximum time, in seconds, to wait for an answer of the server. The time is long, because the first capture of a
 * large folder takes long.
 */
const ANSWER_SECONDS = 120;

/**
 * The Perl program that sends the request to the server. If the server gives no valid answer, the program runs the
 * hook's script once more with the variable `CHRONICLE_HOOK_PARENT`. The script then starts Node, which answers the
 * hook. On Linux, the program loads no Perl module, because loading one takes time. The program's arguments are the
 * socket, the path of the request, the version, `C` if LC_ALL was set only for Perl (else empty), and the arguments of
 * the hook.
 */
const PERL = `#!perl
my ($door, $path, $version, $locale, @words) = @ARGV;
my $in = do { local $/; <STDIN> };
$in = "" unless defined $in;
sub ask {
  # $door can be a link to a socket in another folder. That folder must belong to this user alone.
  # Otherwise, somebody else could have made the socket.
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
  # The server may need long to answer, but the hook does not wait for ever.
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
my $key = $words[0] eq "cline" ? "contextModification" : "systemMessage";
print qq({"$key":"Chronicle: this step is not recorded: the hook could not be run (chronicle doctor)"});
exit 0;
`;

/**
 * The shell function that answers the hook in a new process, with the agent's input as stdin. The function starts Node
 * with the image. If the process ends with one of the following codes, the function starts Node without the image:
 * - 14: the image is of another Node. The process has read no input.
 * - 75: the program of the hook was replaced after the image was made. The process has read no input.
 * - above 125: Node could not be started, or has crashed.
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

function jsonWord(text: string): string {
  return shellWord(JSON.stringify(text).slice(1, -1));
}

/**
 * Returns the shell functions that report that Chronicle or Node was removed. The functions report this when a session,
 * a prompt or a tool call begins, but not when one of these ends.
 *
 * With `--strict`, a tool must not run if Chronicle cannot record it, so a missing Node stops tools. A missing
 * Chronicle stops no tool, because the user has uninstalled Chronicle on purpose. Prompts and ends of turns are never
 * stopped, because an agent that cannot end its turn would run forever.
 */
function lostChecks(node: string, entry: string): string {
  return `tell() {
  printf 'chronicle: %s\\n' "$1" >&2
  case $agent in
    cline) printf '{"contextModification":"Chronicle: %s"}\\n' "$1" ;;
    copilot) printf '{"type":"progress","message":"Chronicle: %s"}\\n' "$1" ;;
    cursor) printf '{"continue":true,"user_message":"Chronicle: %s"}\\n' "$1" ;;
    *) printf '{"systemMessage":"Chronicle: %s"}\\n' "$1" ;;
  esac
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
    [Pp]ostToolUse* | After* | [Ss]top | [Ss]essionEnd | Task* | SessionShutdown)
      case $agent in gemini | cursor) echo '{}' ;; esac
      exit 0
      ;;
    [Ss]essionStart | UserPromptSubmit | beforeSubmitPrompt | BeforeAgent) ;;
    *) [ -n "$2" ] && refuse "$1" ;;
  esac
  tell "$1"
  exit 0
}
present() {
  case $agent in
    codex) settings=.codex/hooks.json ;;
    gemini) settings=.gemini/settings.json ;;
    opencode) settings=.opencode/plugins/chronicle.js ;;
    cursor) settings=.cursor/hooks.json ;;
    copilot) settings=hooks/chronicle.json ;;
    cline) settings=.cline/hooks ;;
    *) settings=.claude/settings.json ;;
  esac
  [ -f "$entry" ] || lost ${jsonWord(`Chronicle was uninstalled (${entry} is gone): nothing is recorded. Install it again, or remove the hooks that name chronicle-hook from `)}"$settings" ""
  [ -x "$node" ] || lost ${jsonWord(`the Node that runs it is gone (${node}): nothing is recorded. Run again the chronicle agents install that made this hook, or remove the hooks that name chronicle-hook from `)}"$settings" "$strict"
}`;
}

/**
 * Returns the text of the installed hook. It is a script for `sh` that asks the server with Perl or curl. If the server
 * does not answer, the script starts Node, which answers the hook. Perl is a few milliseconds faster than curl, and is
 * available nearly everywhere. Both are an order of magnitude faster than starting Node. The arguments of the script
 * are the agent's name and, optionally, `--strict` and `--direct`. With `--direct`, the server is neither asked nor
 * started.
 *
 * `--strict` is only meant for the hook before a tool. With `--strict`, a script that fails exits with code 2, and the
 * agent then does not run the tool. There is one exception: if Chronicle was uninstalled, the tool still runs (see
 * `lostChecks`).
 */
export function hookScript({ home, node, entry, image, version, configHome }: HookScript): string {
  const config = configHome === undefined ? "" : `XDG_CONFIG_HOME=${shellWord(configHome)}\nexport XDG_CONFIG_HOME\n`;
  return `#!/bin/sh
# Chronicle's hook for AI agents, version ${version}. \`chronicle agents install\` makes this file, and overwrites changes in it.
agent=$1
strict=
direct=
for word; do
  case $word in
    --strict) strict=1 ;;
    --direct) direct=1 ;;
  esac
done
# Off the record (\`chronicle run --otr\`), the server is not asked. A new Node process answers.
[ -n "\${CHRONICLE_OTR-}" ] && direct=1
store=\${CHRONICLE_HOME:-${shellWord(home)}}
node=${shellWord(node)}
entry=${shellWord(entry)}
${config}door=$store/run/serve.sock
# This is set if the Perl program below has already tried the server.
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

export interface HookPlaces {
  readonly home: string;
  readonly configFolder: string;
}

export function hookScriptPath({ configFolder }: HookPlaces): string {
  return join(configFolder, "bin", "chronicle-hook");
}

/** Writes the hook's script if it is not current, and returns its path. Throws system errors. */
export function writeHookScript(io: Io, places: HookPlaces): string {
  const path = hookScriptPath(places);
  if (isHookCurrent(io, places)) return path;
  const text = hookText(io, places);
  const disk = new NodeDisk();
  makeMissingFolders(disk, dirname(path), 0o700);
  writeFileDurably(disk, path, Buffer.from(text), { mode: 0o755, mark: uniqueMark() });
  return path;
}

/** True if the installed script has the text of `hookText` and the mode 755. */
export function isHookCurrent(io: Io, places: HookPlaces): boolean {
  const path = hookScriptPath(places);
  return readTextIfThere(path) === hookText(io, places) && new NodeDisk().lstat(path)?.mode === 0o755;
}

export function hookText(io: Io, { home }: HookPlaces): string {
  const configHome = io.env["XDG_CONFIG_HOME"];
  const image = basename(hookImagePath(home));
  return hookScript({ home, node: process.execPath, entry: hookEntryPath(), image, version: io.version, configHome });
}

/** The command line that makes Copilot CLI show that the hook failed, but does not keep the tool from running. */
const FAILED_IN_COPILOT =
  `echo '{"type":"progress","message":"Chronicle: its hook failed, and this step is not recorded. See: chronicle ` +
  `doctor"}'`;

/**
 * Returns the commands of Chronicle's entries for an agent. `strict`: true if the hook before a tool gets `--strict`.
 */
export function wantedFor(agent: string, places: HookPlaces & { readonly strict: boolean }): Wanted {
  const script = shellWord(hookScriptPath(places));
  // If the hook's script is missing, the shell returns 127, which Gemini CLI treats as a refusal. `exit 1` replaces
  // this code, because most agents treat 1 as a warning. Copilot CLI runs a tool only after the exit code 0.
  const hook = `${script} ${agent} || ${agent === "copilot" ? FAILED_IN_COPILOT : "exit 1"}`;
  // With `--strict`, the tool must not run if the hook's script is missing. A missing script cannot return 2, so the
  // shell does.
  const hookBefore = places.strict ? `${script} ${agent} --strict || exit 2` : hook;
  return { hook, hookBefore, mcp: [process.execPath, launcherPath(), "--store", places.home, "mcp"] };
}
